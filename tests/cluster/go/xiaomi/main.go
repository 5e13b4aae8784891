// The test driver with XiaoMi's Go client (May 2022).
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"io"
	"log"

	"arion.test/driver"
	"github.com/XiaoMi/pegasus-go-client/pegalog"
	"github.com/XiaoMi/pegasus-go-client/pegasus"
)

func main() {
	pegalog.SetLogger(log.New(io.Discard, "", 0))
	driver.Main(driver.Version{
		Name: "xiaomi",
		Open: func(ctx context.Context, metas []string, table string) (driver.Table, error) {
			connector, err := pegasus.NewClient(pegasus.Config{MetaServers: metas}).OpenTable(ctx, table)
			return wide{connector}, err
		},
	})
}
