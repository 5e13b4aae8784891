// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

func do(operation func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	return operation(ctx)
}

func put(table Table, hash, sort, value []byte) error {
	return do(func(ctx context.Context) error { return table.Set(ctx, hash, sort, value) })
}

func get(table Table, hash, sort []byte) (value []byte, err error) {
	err = do(func(ctx context.Context) (err error) {
		value, err = table.Get(ctx, hash, sort)
		return err
	})
	return value, err
}

func expect(table Table, what string, hash, sort, want []byte) error {
	got, err := get(table, hash, sort)
	if err != nil {
		return fmt.Errorf("%s: get: %w", what, err)
	}
	if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		return fmt.Errorf("%s: read %d bytes (nil: %v), want %d (nil: %v)", what, len(got), got == nil, len(want), want == nil)
	}
	return nil
}

func roundTrip(table Table, what string, hash, sort, value []byte) error {
	if err := put(table, hash, sort, value); err != nil {
		return fmt.Errorf("%s: set: %w", what, err)
	}
	return expect(table, what, hash, sort, value)
}

// check goes once through what a client may do.
func check(table Table) error {
	text := func(s string) []byte { return []byte(s) }
	steps := 0
	step := func(err error) error {
		steps++
		return err
	}
	for _, size := range []int{1, 100, 4095, 4096, 65536, 1000 * 1000, 1<<20 - 200} {
		value := bytes.Repeat([]byte{byte(size), 0, 255, '\n'}, size/4+1)[:size]
		if err := step(roundTrip(table, fmt.Sprintf("value of %d bytes", size), text("sizes"), text(fmt.Sprint(size)), value)); err != nil {
			return err
		}
	}
	keys := []struct {
		what       string
		hash, sort []byte
	}{
		{"empty sort key", text("lonely"), []byte{}},
		{"zero bytes in both keys", []byte("a\x00b\x00"), []byte("\x00\x00c")},
		{"all byte values", allBytes(), allBytes()},
		{"long hash key", bytes.Repeat(text("h"), 4000), text("s")},
		{"long sort key", text("h"), bytes.Repeat(text("s"), 4000)},
	}
	for i, key := range keys {
		if err := step(roundTrip(table, key.what, key.hash, key.sort, text(fmt.Sprintf("value %d", i)))); err != nil {
			return err
		}
	}
	for i, key := range keys { // none of them stepped on another
		if err := step(expect(table, key.what+", again", key.hash, key.sort, text(fmt.Sprintf("value %d", i)))); err != nil {
			return err
		}
	}

	hash, sort := text("life"), text("s")
	if err := step(roundTrip(table, "overwritten", hash, sort, text("first"))); err != nil {
		return err
	}
	if err := step(roundTrip(table, "overwritten", hash, sort, text("second"))); err != nil {
		return err
	}
	if err := step(do(func(ctx context.Context) error { return table.Del(ctx, hash, sort) })); err != nil {
		return fmt.Errorf("del: %w", err)
	}
	if err := step(expect(table, "deleted", hash, sort, nil)); err != nil {
		return err
	}
	if err := step(expect(table, "never written", text("never"), text("written"), nil)); err != nil {
		return err
	}
	if err := expiry(table); err != nil {
		return err
	}
	fmt.Printf("check: ok, %d steps\n", steps+1)
	return nil
}

func expiry(table Table) error {
	hash, sort := []byte("mortal"), []byte("s")
	ttl := func() (seconds int, err error) {
		err = do(func(ctx context.Context) (err error) {
			seconds, err = table.TTL(ctx, hash, sort)
			return err
		})
		return seconds, err
	}
	if err := put(table, hash, sort, []byte("v")); err != nil {
		return err
	}
	if seconds, err := ttl(); err != nil || seconds != -1 {
		return fmt.Errorf("ttl of a record without expiry: %d (%v), want -1", seconds, err)
	}
	err := do(func(ctx context.Context) error { return table.SetTTL(ctx, hash, sort, []byte("v"), 3*time.Second) })
	if err != nil {
		return fmt.Errorf("set with ttl: %w", err)
	}
	if seconds, err := ttl(); err != nil || seconds < 1 || seconds > 3 {
		return fmt.Errorf("ttl: %d (%v), want 1 to 3", seconds, err)
	}
	if err := expect(table, "before its expiry", hash, sort, []byte("v")); err != nil {
		return err
	}
	deadline := time.Now().Add(8 * time.Second)
	for {
		value, err := get(table, hash, sort)
		if err != nil {
			return err
		}
		if value == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a record with a ttl of 3 s is still there after 8 s")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if seconds, err := ttl(); err != nil || seconds != -2 {
		return fmt.Errorf("ttl of an expired record: %d (%v), want -2", seconds, err)
	}
	return nil
}

func allBytes() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// parallel runs work(i) for 0 <= i < count and returns the first error.
func parallel(threads, count int, work func(i int) error) error {
	var next int64 = -1
	var failed atomic.Value
	var group sync.WaitGroup
	for t := 0; t < threads; t++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for failed.Load() == nil {
				i := int(atomic.AddInt64(&next, 1))
				if i >= count {
					return
				}
				if err := work(i); err != nil {
					failed.CompareAndSwap(nil, fmt.Errorf("key %d: %w", i, err))
				}
			}
		}()
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return err.(error)
	}
	return nil
}

// many writes o.Keys records and reads every one back.
func many(table Table, o Options) error {
	key := func(i int) []byte { return []byte(fmt.Sprintf("many-%07d", i)) }
	value := func(i int) []byte { return []byte(fmt.Sprintf("value of %d, %d", i, i*i)) }
	if err := parallel(o.Threads, o.Keys, func(i int) error { return put(table, key(i), []byte("s"), value(i)) }); err != nil {
		return err
	}
	err := parallel(o.Threads, o.Keys, func(i int) error { return expect(table, "read back", key(i), []byte("s"), value(i)) })
	if err == nil {
		fmt.Printf("many: ok, %d keys written and read back\n", o.Keys)
	}
	return err
}
