// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// benchOperation is what each goroutine does again and again; a scan counts its records as operations.
func benchOperation(table Table, o Options) (func(ctx context.Context, n uint64) (done int, err error), error) {
	wide, ok := table.(Wide)
	if !ok {
		return nil, fmt.Errorf("this version has no adapter")
	}
	value := bytes.Repeat([]byte("v"), o.Size)
	key := func(n uint64) []byte { return []byte(fmt.Sprintf("bench-%016d", n%uint64(o.Keys))) }
	switch o.Op {
	case "put":
		return func(ctx context.Context, n uint64) (int, error) { return 1, wide.Set(ctx, key(n), []byte("s"), value) }, nil
	case "get":
		return func(ctx context.Context, n uint64) (int, error) {
			got, err := wide.Get(ctx, key(n), []byte("s"))
			if err == nil && got == nil {
				err = fmt.Errorf("there is no %s", key(n))
			}
			return 1, err
		}, nil
	case "multi_get":
		return func(ctx context.Context, n uint64) (int, error) {
			pairs, all, err := wide.Range(ctx, string(key(n)), "", "", RangeOptions{StartInclusive: true})
			if err == nil && (len(pairs) != o.Rows || !all) {
				err = fmt.Errorf("%d rows", len(pairs))
			}
			return 1, err
		}, nil
	case "check_and_set":
		return func(ctx context.Context, n uint64) (int, error) {
			set, err := wide.Check(ctx, string(key(n)), "s", 3, "", "s", string(value), 0, false)
			if err == nil && !set.Succeeded {
				err = fmt.Errorf("there is no %s", key(n))
			}
			return 1, err
		}, nil
	case "scan":
		return func(ctx context.Context, n uint64) (int, error) {
			rows, err := wide.ScanAll(ctx, 1, RangeOptions{Count: 1000})
			return len(rows), err
		}, nil
	}
	return nil, fmt.Errorf("there is no operation %q", o.Op)
}

// bench runs o.Op from o.Threads goroutines o.Ops times or for o.Seconds; what it reads a put run with the same --keys wrote.
func bench(table Table, o Options) error {
	operation, err := benchOperation(table, o)
	if err != nil {
		return err
	}
	var scanned uint64
	latencies := make([][]time.Duration, o.Threads)
	var next, failed uint64
	var group sync.WaitGroup
	started := time.Now()
	deadline := started.Add(time.Duration(o.Seconds) * time.Second)
	for t := 0; t < o.Threads; t++ {
		group.Add(1)
		go func(t int) {
			defer group.Done()
			for {
				begin := time.Now()
				n := atomic.AddUint64(&next, 1)
				if o.Ops > 0 && n > uint64(o.Ops) || o.Ops == 0 && begin.After(deadline) {
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
				done, err := operation(ctx, n*2654435761)
				cancel()
				atomic.AddUint64(&scanned, uint64(done))
				if err != nil {
					atomic.AddUint64(&failed, 1)
					continue
				}
				latencies[t] = append(latencies[t], time.Since(begin))
			}
		}(t)
	}
	group.Wait()
	seconds := time.Since(started).Seconds()
	var all []time.Duration
	var sum time.Duration
	for _, some := range latencies {
		all = append(all, some...)
	}
	if len(all) == 0 {
		return fmt.Errorf("no operation succeeded, %d failed", failed)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	for _, latency := range all {
		sum += latency
	}
	at := func(share float64) int64 { return all[int(share*float64(len(all)-1))].Microseconds() }
	ops := uint64(len(all))
	if o.Op == "scan" {
		ops = scanned
	}
	fmt.Printf("bench: %s threads=%d size=%d ops=%d errors=%d ops/s=%.0f avg_us=%d p50_us=%d p99_us=%d p999_us=%d max_us=%d\n",
		o.Op, o.Threads, o.Size, ops, failed, float64(ops)/seconds, sum.Microseconds()/int64(len(all)), at(0.5),
		at(0.99), at(0.999), at(1))
	return nil
}
