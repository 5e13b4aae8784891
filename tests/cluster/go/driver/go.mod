module arion.test/driver

go 1.19
