module arion.test/xiaomi

go 1.19

require (
	arion.test/driver v0.0.0
	github.com/XiaoMi/pegasus-go-client v0.0.0-20220519103347-ba0e68465cd5
)

require (
	github.com/cenkalti/backoff/v4 v4.1.0 // indirect
	github.com/konsorten/go-windows-terminal-sequences v1.0.1 // indirect
	github.com/pegasus-kv/thrift v0.13.0 // indirect
	github.com/sirupsen/logrus v1.4.2 // indirect
	golang.org/x/net v0.0.0-20191105084925-a882066a44e0 // indirect
	golang.org/x/sys v0.0.0-20191010194322-b09406accb47 // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.0.0 // indirect
	gopkg.in/tomb.v2 v2.0.0-20161208151619-d5d1b5820637 // indirect
	k8s.io/apimachinery v0.0.0-20191123233150-4c4803ed55e3 // indirect
)

replace arion.test/driver => ../driver
