// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

const addedRecords = 10

// add increments ten records by growing amounts until standard input closes. Each acknowledged amount is a line on
// standard output: "<record> <amount>". This client sends an INCR again by itself, so one may count twice.
func add(table Table, o Options) error {
	wide, ok := table.(Wide)
	if !ok {
		return fmt.Errorf("this version has no adapter")
	}
	var stop atomic.Value
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		stop.Store(true)
	}()
	next := int64(o.First)
	var output sync.Mutex
	var group sync.WaitGroup
	for t := 0; t < o.Threads; t++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for stop.Load() == nil {
				amount := atomic.AddInt64(&next, 1)
				record := fmt.Sprintf("%s-%d", o.Prefix, amount%addedRecords)
				ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
				_, err := wide.Incr(ctx, []byte(record), []byte("n"), amount)
				cancel()
				if err != nil {
					continue // not acknowledged: it may have happened, even twice
				}
				output.Lock()
				fmt.Println(record, amount)
				output.Unlock()
			}
		}()
	}
	group.Wait()
	return nil
}
