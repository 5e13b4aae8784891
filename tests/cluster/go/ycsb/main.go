// go-ycsb with its Pegasus binding only: its own main registers twenty databases' clients, which take minutes to build.
//
//	go_ycsb load|run NAME=VALUE...      properties of go-ycsb
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/pegasus"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

// database is the binding, but for its updates: they name no sort key at all, which its own client refuses before it asks
// anybody. Its inserts write the same value under the empty sort key.
type database struct{ ycsb.DB }

func (d database) Update(ctx context.Context, table, key string, values map[string][]byte) error {
	return d.Insert(ctx, table, key, values)
}

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string, assignments []string) error {
	p := properties.NewProperties()
	for _, assignment := range assignments {
		name, value, _ := strings.Cut(assignment, "=")
		if _, _, err := p.Set(name, value); err != nil {
			return err
		}
	}
	settings := map[string]string{prop.DoTransactions: fmt.Sprint(command == "run"), prop.Command: command, prop.Silence: "false"}
	for name, value := range settings {
		if _, _, err := p.Set(name, value); err != nil {
			return err
		}
	}
	measurement.InitMeasure(p)
	workload, err := ycsb.GetWorkloadCreator(p.GetString(prop.Workload, "core")).Create(p)
	if err != nil {
		return err
	}
	db, err := ycsb.GetDBCreator("pegasus").Create(p)
	if err != nil {
		return err
	}
	client.NewClient(p, workload, client.DbWrapper{DB: database{db}}).Run(context.Background())
	measurement.Output()
	return db.Close()
}
