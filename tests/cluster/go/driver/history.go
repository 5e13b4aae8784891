// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readersOfARecord = 2
	historyPause     = 5 * time.Millisecond // behind each operation: it is one load of several
)

// operation is a line of the history, in the form of `arion_load --history`.
type operation struct {
	Key    string  `json:"key"`
	Op     string  `json:"op"`
	Value  *string `json:"value"`
	Call   int64   `json:"call"`
	Return *int64  `json:"return"` // null: no answer came, so it may happen at any time
}

// history writes and reads `threads` records at a time until standard input closes and prints each operation as it ends.
// This client sends a write again by itself, so each record has one writer, who leaves it for good behind a write that was
// not acknowledged: whatever of such a write happens late, no other value of that record comes after it.
func history(table Table, o Options) error {
	var stop atomic.Value
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		stop.Store(true)
	}()
	begun := time.Now()
	var output sync.Mutex
	tell := func(line operation) {
		text, _ := json.Marshal(line)
		output.Lock()
		fmt.Println(string(text))
		output.Unlock()
	}
	// since runs one operation and says when it began and ended.
	since := func(run func(ctx context.Context) error) (call int64, end int64, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
		defer cancel()
		time.Sleep(historyPause)
		call = time.Since(begun).Nanoseconds()
		err = run(ctx)
		return call, time.Since(begun).Nanoseconds(), err
	}
	var group sync.WaitGroup
	for i := 0; i < o.Threads; i++ {
		t := i
		var generation int64
		record := func() string { return fmt.Sprintf("%s-%d-%d", o.Prefix, t, atomic.LoadInt64(&generation)) }
		group.Add(1 + readersOfARecord)
		go func() {
			defer group.Done()
			for n := 0; stop.Load() == nil; n++ {
				key, value := record(), fmt.Sprintf("%s-%d-%d", o.Prefix, t, n)
				call, end, err := since(func(ctx context.Context) error {
					return table.Set(ctx, []byte(key), []byte("s"), []byte(value))
				})
				if err != nil {
					tell(operation{key, "write", &value, call, nil})
					atomic.AddInt64(&generation, 1)
					continue
				}
				tell(operation{key, "write", &value, call, &end})
			}
		}()
		for r := 0; r < readersOfARecord; r++ {
			go func() {
				defer group.Done()
				for stop.Load() == nil {
					key := record()
					var value []byte
					call, end, err := since(func(ctx context.Context) (err error) {
						value, err = table.Get(ctx, []byte(key), []byte("s"))
						return err
					})
					if err != nil {
						continue // it changed nothing and told nothing
					}
					line := operation{key, "read", nil, call, &end}
					if value != nil {
						text := string(value)
						line.Value = &text
					}
					tell(line)
				}
			}()
		}
	}
	group.Wait()
	return nil
}
