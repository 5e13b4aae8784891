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

// bench runs puts or gets from o.Threads goroutines for o.Seconds; gets read what a put run with the same --keys wrote.
func bench(table Table, o Options) error {
	value := bytes.Repeat([]byte("v"), o.Size)
	key := func(n uint64) []byte { return []byte(fmt.Sprintf("bench-%016d", n%uint64(o.Keys))) }
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
				if begin.After(deadline) {
					return
				}
				k := key(atomic.AddUint64(&next, 1) * 2654435761)
				ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
				var err error
				if o.Op == "put" {
					err = table.Set(ctx, k, []byte("s"), value)
				} else {
					_, err = table.Get(ctx, k, []byte("s"))
				}
				cancel()
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
	fmt.Printf("bench: %s threads=%d size=%d ops=%d errors=%d ops/s=%.0f avg_us=%d p50_us=%d p99_us=%d p999_us=%d max_us=%d\n",
		o.Op, o.Threads, o.Size, len(all), failed, float64(len(all))/seconds, sum.Microseconds()/int64(len(all)), at(0.5),
		at(0.99), at(0.999), at(1))
	return nil
}
