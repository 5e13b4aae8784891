// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// What the writer named by `key` wrote: as long as the reader knows the key, it knows the value.
func valueOf(key string) []byte {
	return []byte(key + "|" + strings.Repeat("x", 50+len(key)*7%200))
}

// write puts distinct records until standard input closes. Each acknowledged key is a line on standard output, written
// after the acknowledgement came. How many were not acknowledged, by error, standard error says at the end.
func write(table Table, o Options) error {
	var stop atomic.Value
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		stop.Store(true)
	}()
	next := int64(o.First) - 1
	failed := map[string]int{}
	var output sync.Mutex
	var group sync.WaitGroup
	for t := 0; t < o.Threads; t++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for stop.Load() == nil {
				key := fmt.Sprintf("%s-%08d", o.Prefix, atomic.AddInt64(&next, 1))
				ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
				err := table.Set(ctx, []byte(key), []byte("s"), valueOf(key))
				cancel()
				if err != nil { // not acknowledged: it may be there or not
					output.Lock()
					failed[errorName(err)]++
					output.Unlock()
					continue
				}
				output.Lock()
				fmt.Println(key)
				output.Unlock()
			}
		}()
	}
	group.Wait()
	for name, count := range failed {
		fmt.Fprintf(os.Stderr, "not acknowledged\t%s\t%d\n", name, count)
	}
	return nil
}

var errorNames = regexp.MustCompile("ERR_[A-Z_]+")

// errorName is the server's, or what the client says.
func errorName(err error) string {
	if name := errorNames.FindString(err.Error()); name != "" {
		return name
	}
	return err.Error()
}

// verify reads each key that standard input lists.
func verify(table Table, o Options) error {
	var keys []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		keys = append(keys, lines.Text())
	}
	var lost int64
	err := parallel(o.Threads, len(keys), func(i int) error {
		value, err := get(table, []byte(keys[i]), []byte("s"))
		if err != nil {
			return fmt.Errorf("%s: %w", keys[i], err)
		}
		if string(value) != string(valueOf(keys[i])) {
			if atomic.AddInt64(&lost, 1) <= 20 {
				fmt.Printf("LOST %s (read %q)\n", keys[i], value)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("verify: %d acknowledged writes, %d lost\n", len(keys), lost)
	if lost > 0 {
		return fmt.Errorf("%d acknowledged writes are lost", lost)
	}
	return nil
}
