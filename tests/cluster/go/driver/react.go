// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"
)

// react does what standard input says, a line each: "get KEY MILLISECONDS", "set ..." or "incr ...", with a time-out of so
// many. It answers with a line: how long it took in ms, then "ok" or the error.
func react(table Table) error {
	wide, ok := table.(Wide)
	if !ok {
		return fmt.Errorf("this version has no adapter")
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var op, key string
		var milliseconds int
		if _, err := fmt.Sscan(lines.Text(), &op, &key, &milliseconds); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(milliseconds)*time.Millisecond)
		started := time.Now()
		var err error
		switch op {
		case "get":
			_, err = wide.Get(ctx, []byte(key), []byte("s"))
		case "set":
			err = wide.Set(ctx, []byte(key), []byte("s"), []byte("v"))
		case "incr":
			_, err = wide.Incr(ctx, []byte(key), []byte("s"), 1)
		default:
			err = fmt.Errorf("there is no operation %q", op)
		}
		cancel()
		verdict := "ok"
		if err != nil {
			verdict = err.Error()
		}
		fmt.Println(time.Since(started).Milliseconds(), verdict)
	}
	return nil
}
