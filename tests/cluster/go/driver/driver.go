// Package driver is what the test programs for both versions of the Go client have in common.
//
// Modes: check, api, many, write, verify, add, history, react, bench; admin where the version has an administration client. Each prints a summary
// line and ends with exit code 1 when something differs from what it must be.
// SPDX-License-Identifier: Apache-2.0
package driver

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// Table is what both versions' TableConnector offers.
type Table interface {
	Get(ctx context.Context, hashKey []byte, sortKey []byte) ([]byte, error)
	Set(ctx context.Context, hashKey []byte, sortKey []byte, value []byte) error
	SetTTL(ctx context.Context, hashKey []byte, sortKey []byte, value []byte, ttl time.Duration) error
	Del(ctx context.Context, hashKey []byte, sortKey []byte) error
	TTL(ctx context.Context, hashKey []byte, sortKey []byte) (int, error)
}

// Version is one version of the client.
type Version struct {
	Name  string
	Open  func(ctx context.Context, metas []string, table string) (Table, error)
	Admin func(metas []string) error // nil: has none
}

// Options are the command line's.
type Options struct {
	Metas   []string
	Table   string
	Keys    int
	Threads int
	Seconds int
	Size    int
	Ops     int
	Rows    int
	Op      string
	Prefix  string
	First   int
	Timeout time.Duration
}

const operationTimeout = 10 * time.Second

// Main runs the mode that the command line names.
func Main(version Version) {
	var o Options
	metas := flag.String("meta", "127.0.0.1:34601", "meta servers")
	flag.StringVar(&o.Table, "table", "temp", "table")
	flag.IntVar(&o.Keys, "keys", 100000, "many, bench: number of keys")
	flag.IntVar(&o.Threads, "threads", 32, "goroutines")
	flag.IntVar(&o.Seconds, "seconds", 10, "bench: length")
	flag.IntVar(&o.Size, "size", 1000, "bench: value size")
	flag.IntVar(&o.Ops, "ops", 0, "bench: number of operations instead of a length; of scan: scans")
	flag.IntVar(&o.Rows, "rows", 1, "bench: sort keys of a hash key (multi_get)")
	flag.StringVar(&o.Op, "op", "put", "bench: put, get, multi_get, check_and_set, scan")
	flag.StringVar(&o.Prefix, "prefix", "w", "write, add, history: prefix of the keys")
	flag.IntVar(&o.First, "first", 0, "write, add: first number")
	flag.DurationVar(&o.Timeout, "timeout", operationTimeout, "of one operation")
	flag.Parse()
	o.Metas = strings.Split(*metas, ",")
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "one mode: check, api, many, write, verify, add, history, react, bench, admin")
		os.Exit(2)
	}
	if err := run(version, o, flag.Arg(0)); err != nil {
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", version.Name, flag.Arg(0), err)
		os.Exit(1)
	}
}

func run(version Version, o Options, mode string) error {
	if mode == "admin" {
		if version.Admin == nil {
			return fmt.Errorf("this version has no administration client")
		}
		return version.Admin(o.Metas)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	table, err := version.Open(ctx, o.Metas, o.Table)
	if err != nil {
		return fmt.Errorf("open table %s: %w", o.Table, err)
	}
	switch mode {
	case "check":
		return check(table)
	case "api":
		return api(version.Name, table)
	case "many":
		return many(table, o)
	case "write":
		return write(table, o)
	case "verify":
		return verify(table, o)
	case "add":
		return add(table, o)
	case "history":
		return history(table, o)
	case "react":
		return react(table)
	case "bench":
		return bench(table, o)
	}
	return fmt.Errorf("there is no mode %q", mode)
}
