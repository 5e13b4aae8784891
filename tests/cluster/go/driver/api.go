// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

// Pair is a sort key and its value.
type Pair struct{ SortKey, Value string }

// FullKey names a record of the table.
type FullKey struct{ HashKey, SortKey string }

// RangeOptions are the versions' MultiGetOptions and ScannerOptions; filters are 0 none, 1 anywhere, 2 prefix, 3 postfix.
type RangeOptions struct {
	StartInclusive, StopInclusive bool
	Count, Size                   int // of MultiGet; Count is a scan's batch size
	HashFilter, SortFilter        int
	HashPattern, SortPattern      string
	Reverse, NoValue              bool
}

// CheckedSet is what CheckAndSet answers.
type CheckedSet struct {
	Succeeded, Returned, Exists bool
	Value                       string
}

// Wide is what both versions offer beyond Table; main.go of each adapts it.
type Wide interface {
	Table
	MultiSet(ctx context.Context, hashKey []byte, sortKeys [][]byte, values [][]byte) error
	MultiSetOpt(ctx context.Context, hashKey []byte, sortKeys [][]byte, values [][]byte, ttl time.Duration) error
	MultiDel(ctx context.Context, hashKey []byte, sortKeys [][]byte) error
	SortKeyCount(ctx context.Context, hashKey []byte) (int64, error)
	Incr(ctx context.Context, hashKey []byte, sortKey []byte, increment int64) (int64, error)
	Exist(ctx context.Context, hashKey []byte, sortKey []byte) (bool, error)

	Points(ctx context.Context, hashKey string, sortKeys []string, o RangeOptions) (pairs []Pair, all bool, err error)
	Range(ctx context.Context, hashKey, start, stop string, o RangeOptions) (pairs []Pair, all bool, err error)
	Check(ctx context.Context, hashKey, sortKey string, checkType int, operand, setSortKey, setValue string, ttl int,
		returnValue bool) (CheckedSet, error)
	// Scan returns "hash/sort=value" of one hash key's records, in order.
	Scan(ctx context.Context, hashKey, start, stop string, o RangeOptions) ([]string, error)
	// ScanAll returns the same of all partitions, without an order.
	ScanAll(ctx context.Context, splits int, o RangeOptions) ([]string, error)
	// Batch returns the values of (hash key, sort key), "-" for a missing one.
	Batch(ctx context.Context, keys []FullKey) ([]string, error)
	// AbandonScan begins a scan, takes one record and closes it; the connection must go on working.
	AbandonScan(ctx context.Context, hashKey string) error
}

type apiTest struct {
	table Wide
	hash  string // of the present case: no two share one
}

func (t *apiTest) fill(sortKeys ...string) error {
	var keys, values [][]byte
	for _, key := range sortKeys {
		keys = append(keys, []byte(key))
		values = append(values, []byte("v"+key))
	}
	return do(func(ctx context.Context) error { return t.table.MultiSet(ctx, []byte(t.hash), keys, values) })
}

func names(pairs []Pair) string {
	var all []string
	for _, pair := range pairs {
		all = append(all, pair.SortKey)
	}
	return strings.Join(all, " ")
}

func mismatch(got, want interface{}) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %q, want %q", fmt.Sprint(got), fmt.Sprint(want))
	}
	return nil
}

func (t *apiTest) points(keys []string, o RangeOptions, want string) error {
	return do(func(ctx context.Context) error {
		pairs, all, err := t.table.Points(ctx, t.hash, keys, o)
		if err != nil {
			return err
		}
		return mismatch(fmt.Sprint(names(pairs), " all=", all), want)
	})
}

func (t *apiTest) ranged(start, stop string, o RangeOptions, want string) error {
	return do(func(ctx context.Context) error {
		pairs, all, err := t.table.Range(ctx, t.hash, start, stop, o)
		if err != nil {
			return err
		}
		return mismatch(fmt.Sprint(names(pairs), " all=", all), want)
	})
}

func (t *apiTest) incr(by int64) (value int64, err error) {
	err = do(func(ctx context.Context) (err error) {
		value, err = t.table.Incr(ctx, []byte(t.hash), []byte("n"), by)
		return err
	})
	return value, err
}

func (t *apiTest) check(checkType int, operand, setSortKey, setValue string, want CheckedSet) error {
	return do(func(ctx context.Context) error {
		got, err := t.table.Check(ctx, t.hash, "c", checkType, operand, setSortKey, setValue, 0, true)
		if err != nil {
			return err
		}
		return mismatch(got, want)
	})
}

func (t *apiTest) all() (string, error) {
	var text string
	err := do(func(ctx context.Context) error {
		pairs, _, err := t.table.Range(ctx, t.hash, "", "", RangeOptions{StartInclusive: true})
		for _, pair := range pairs {
			text += pair.SortKey + "=" + pair.Value + " "
		}
		return err
	})
	return text, err
}

func (t *apiTest) expectAll(want string) error {
	got, err := t.all()
	if err != nil {
		return err
	}
	return mismatch(got, want)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type apiCase struct {
	operation, edge string
	run             func(t *apiTest) error
}

var in = RangeOptions{StartInclusive: true}

func apiCases() []apiCase {
	return []apiCase{
		{"MULTI_PUT", "several at once, the last of the same key wins", func(t *apiTest) error {
			err := do(func(ctx context.Context) error {
				return t.table.MultiSet(ctx, []byte(t.hash), [][]byte{[]byte("a"), []byte("b"), []byte("a")},
					[][]byte{[]byte("1"), []byte("2"), []byte("3")})
			})
			return firstError(err, t.expectAll("a=3 b=2 "))
		}},
		{"MULTI_PUT", "with a TTL for all", func(t *apiTest) error {
			return do(func(ctx context.Context) error {
				hash := []byte(t.hash)
				if err := t.table.MultiSetOpt(ctx, hash, [][]byte{[]byte("a"), []byte("b")},
					[][]byte{[]byte("1"), []byte("2")}, 100*time.Second); err != nil {
					return err
				}
				seconds, err := t.table.TTL(ctx, hash, []byte("b"))
				if err == nil && (seconds < 90 || seconds > 100) {
					err = fmt.Errorf("ttl %d", seconds)
				}
				return err
			})
		}},
		{"MULTI_REMOVE", "existing and missing keys", func(t *apiTest) error {
			err := t.fill("a", "b", "c")
			return firstError(err, do(func(ctx context.Context) error {
				return t.table.MultiDel(ctx, []byte(t.hash), [][]byte{[]byte("a"), []byte("none"), []byte("c")})
			}), t.expectAll("b=vb "))
		}},
		{"MULTI_GET", "points in request order, duplicates twice", func(t *apiTest) error {
			return firstError(t.fill("a", "b"), t.points([]string{"b", "none", "a", "b"}, in, "b a b all=true"))
		}},
		{"MULTI_GET", "points beyond count and size", func(t *apiTest) error {
			count, size, none := in, in, in
			count.Count, size.Size, none.Count, none.Size = 1, 1, -1, -1
			return firstError(t.fill("a", "b"), t.points([]string{"a", "b"}, count, "a all=false"),
				t.points([]string{"a", "b"}, size, "a all=false"), t.points([]string{"a", "b"}, none, "a b all=true"))
		}},
		{"MULTI_GET", "nothing there", func(t *apiTest) error {
			return firstError(t.points([]string{"a"}, in, " all=true"), t.ranged("", "", in, " all=true"))
		}},
		{"MULTI_GET", "a whole hash key with an empty sort key", func(t *apiTest) error {
			return firstError(t.fill("", "a"), t.ranged("", "", in, " a all=true"),
				t.ranged("", "", RangeOptions{}, "a all=true"))
		}},
		{"MULTI_GET", "bounds inclusive or not", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c", "d"),
				t.ranged("b", "c", RangeOptions{StartInclusive: true, StopInclusive: true}, "b c all=true"),
				t.ranged("b", "c", RangeOptions{StartInclusive: true}, "b all=true"),
				t.ranged("b", "c", RangeOptions{StopInclusive: true}, "c all=true"),
				t.ranged("b", "c", RangeOptions{}, " all=true"))
		}},
		{"MULTI_GET", "start after stop, and an empty range", func(t *apiTest) error {
			both := RangeOptions{StartInclusive: true, StopInclusive: true}
			return firstError(t.fill("a", "b", "c"), t.ranged("c", "a", both, " all=true"),
				t.ranged("b", "b", in, " all=true"), t.ranged("b", "b", both, "b all=true"))
		}},
		{"MULTI_GET", "a filter longer than the keys", func(t *apiTest) error {
			err := t.fill("ab", "abc")
			for filter := 1; filter <= 3; filter++ {
				o := RangeOptions{StartInclusive: true, SortFilter: filter, SortPattern: strings.Repeat("abc", 1000)}
				err = firstError(err, t.ranged("", "", o, " all=true"))
			}
			return err
		}},
		{"MULTI_GET", "negative limits are the server's", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Count: -1, Size: -1}, "a b c all=true"))
		}},
		{"MULTI_GET", "every filter, with and without a pattern", func(t *apiTest) error {
			err := t.fill("ab", "abc", "ba", "cab")
			for filter, want := range []string{"ab abc ba cab", "ab abc cab", "ab abc", "ab cab"} {
				o := RangeOptions{StartInclusive: true, SortFilter: filter, SortPattern: "ab"}
				err = firstError(err, t.ranged("", "", o, want+" all=true"))
				o.SortPattern = ""
				err = firstError(err, t.ranged("", "", o, "ab abc ba cab all=true"))
			}
			return err
		}},
		{"MULTI_GET", "reverse takes the last, in order", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Reverse: true, Count: 2}, "b c all=false"),
				t.ranged("", "c", RangeOptions{StartInclusive: true, Reverse: true, Count: 1}, "b all=false"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Reverse: true}, "a b c all=true"))
		}},
		{"MULTI_GET", "limits by count and size; the record that crosses is still returned", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Count: 3}, "a b c all=true"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Count: 2}, "a b all=false"),
				t.ranged("", "", RangeOptions{StartInclusive: true, Size: 4}, "a b all=false"))
		}},
		{"MULTI_GET", "more than the server examines at once", func(t *apiTest) error {
			for batch := 0; batch < 4; batch++ {
				var keys []string
				for i := 0; i < 1000; i++ {
					keys = append(keys, fmt.Sprintf("%d%03d", batch, i))
				}
				if err := t.fill(keys...); err != nil {
					return err
				}
			}
			return do(func(ctx context.Context) error {
				pairs, all, err := t.table.Range(ctx, t.hash, "", "", in)
				return firstError(err, mismatch(fmt.Sprint(len(pairs), all), "3000 false"))
			})
		}},
		{"MULTI_GET", "without values", func(t *apiTest) error {
			return firstError(t.fill("a"), do(func(ctx context.Context) error {
				pairs, _, err := t.table.Range(ctx, t.hash, "", "", RangeOptions{StartInclusive: true, NoValue: true})
				return firstError(err, mismatch(pairs, []Pair{{"a", ""}}))
			}))
		}},
		{"BATCH_GET", "in request order, missing ones absent", func(t *apiTest) error {
			return firstError(t.fill("a", "b"), do(func(ctx context.Context) error {
				got, err := t.table.Batch(ctx, []FullKey{{t.hash, "b"}, {t.hash, "none"}, {t.hash + "x", "a"}, {t.hash, "a"}})
				return firstError(err, mismatch(strings.Join(got, " "), "vb - - va"))
			}))
		}},
		{"SORTKEY_COUNT", "some and none", func(t *apiTest) error {
			count := func(want int64) error {
				return do(func(ctx context.Context) error {
					n, err := t.table.SortKeyCount(ctx, []byte(t.hash))
					return firstError(err, mismatch(n, want))
				})
			}
			return firstError(count(0), t.fill("a", "b", ""), count(3))
		}},
		{"TTL", "none, some, and of a missing record", func(t *apiTest) error {
			exists := func(key string, want bool) error {
				return do(func(ctx context.Context) error {
					got, err := t.table.Exist(ctx, []byte(t.hash), []byte(key))
					return firstError(err, mismatch(got, want))
				})
			}
			return firstError(t.fill("a"), exists("a", true), exists("b", false))
		}},
		{"INCR", "from nothing, up and down", func(t *apiTest) error {
			for _, step := range [][2]int64{{5, 5}, {0, 5}, {-10, -5}, {1 << 62, 1<<62 - 5}} {
				got, err := t.incr(step[0])
				if err = firstError(err, mismatch(got, step[1])); err != nil {
					return err
				}
			}
			return t.expectAll(fmt.Sprintf("n=%d ", int64(1)<<62-5))
		}},
		{"INCR", "on text, and over the edge, writes nothing", func(t *apiTest) error {
			refused := func(by int64) error {
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				defer cancel() // the client asks again and again until its deadline
				if _, err := t.table.Incr(ctx, []byte(t.hash), []byte("n"), by); err == nil {
					return fmt.Errorf("was not refused")
				}
				return nil
			}
			err := firstError(put(t.table, []byte(t.hash), []byte("n"), []byte("text")), refused(1), t.expectAll("n=text "))
			return firstError(err, put(t.table, []byte(t.hash), []byte("n"), []byte("9223372036854775807")), refused(1),
				t.expectAll("n=9223372036854775807 "))
		}},
		{"INCR", "concurrent ones are each counted", func(t *apiTest) error {
			err := parallel(16, 400, func(int) error { _, err := t.incr(1); return err })
			return firstError(err, t.expectAll("n=400 "))
		}},
		{"CHECK_AND_SET", "every check type", func(t *apiTest) error {
			const missing = "\x00"
			cases := []struct {
				checkType      int
				value, operand string
				passes         bool
			}{
				{0, missing, "", true}, {0, "x", "", true}, {1, missing, "", true}, {1, "", "", false},
				{2, missing, "", true}, {2, "", "", true}, {2, "x", "", false}, {3, missing, "", false}, {3, "", "", true},
				{4, "", "", false}, {4, "x", "", true}, {5, "abc", "b", true}, {5, "abc", "d", false}, {6, "abc", "ab", true},
				{6, "abc", "b", false}, {7, "abc", "bc", true}, {7, "abc", "b", false}, {8, "a", "b", true}, {8, "b", "b", false},
				{9, "b", "b", true}, {9, "c", "b", false}, {10, "b", "b", true}, {10, missing, "", false}, {11, "b", "b", true},
				{11, "a", "b", false}, {12, "c", "b", true}, {12, "b", "b", false}, {13, "9", "10", true}, {13, "10", "10", false},
				{14, "10", "10", true}, {14, "11", "10", false}, {15, "0x0a", "10", true}, {15, "1", "10", false},
				{16, "10", "10", true}, {16, "9", "10", false}, {17, "11", "10", true}, {17, "10", "10", false},
				{17, missing, "10", false},
			}
			for i, c := range cases {
				t.hash = fmt.Sprintf("%s-%d", strings.SplitN(t.hash, "-", 2)[0], i)
				want := CheckedSet{Succeeded: c.passes, Returned: true, Exists: c.value != missing}
				if c.value != missing {
					want.Value = c.value
					if err := put(t.table, []byte(t.hash), []byte("c"), []byte(c.value)); err != nil {
						return err
					}
				}
				if err := t.check(c.checkType, c.operand, "s", "set", want); err != nil {
					return fmt.Errorf("type %d, value %q, operand %q: %w", c.checkType, c.value, c.operand, err)
				}
				got, err := get(t.table, []byte(t.hash), []byte("s"))
				if err = firstError(err, mismatch(got != nil, c.passes)); err != nil {
					return fmt.Errorf("type %d, value %q, operand %q: %w", c.checkType, c.value, c.operand, err)
				}
			}
			return nil
		}},
		{"CHECK_AND_SET", "with a TTL; without one the old TTL goes", func(t *apiTest) error {
			set := func(checkType, ttl int) error {
				return do(func(ctx context.Context) error {
					_, err := t.table.Check(ctx, t.hash, "c", checkType, "", "c", "v", ttl, false)
					return err
				})
			}
			expectTTL := func(least, most int) error {
				return do(func(ctx context.Context) error {
					seconds, err := t.table.TTL(ctx, []byte(t.hash), []byte("c"))
					if err == nil && (seconds < least || seconds > most) {
						err = fmt.Errorf("ttl %d", seconds)
					}
					return err
				})
			}
			return firstError(set(0, 1000), expectTTL(990, 1000), set(3, 0), expectTTL(-1, -1))
		}},
		{"PUT", "hash key of 65534 bytes; 65535 is refused", func(t *apiTest) error {
			longest := []byte(t.hash + strings.Repeat("x", 65534-len(t.hash)))
			err := roundTrip(t.table, "longest hash key", longest, []byte("s"), []byte("v"))
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel() // the client asks again and again until its deadline
			if err == nil && t.table.Set(ctx, append(longest, 'x'), []byte("s"), []byte("v")) == nil {
				err = fmt.Errorf("was not refused")
			}
			return firstError(err, t.fill("a"), t.expectAll("a=va "))
		}},
		{"PUT", "a request of more than 1 MiB is refused", func(t *apiTest) error {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			if t.table.Set(ctx, []byte(t.hash), []byte("s"), make([]byte, 1<<20)) == nil {
				return fmt.Errorf("was not refused")
			}
			return expect(t.table, "refused", []byte(t.hash), []byte("s"), nil)
		}},
		{"CHECK_AND_SET", "of many that create a record one wins", func(t *apiTest) error {
			var mutex sync.Mutex
			winners := 0
			err := parallel(16, 100, func(i int) error {
				return do(func(ctx context.Context) error {
					got, err := t.table.Check(ctx, t.hash, "c", 1, "", "c", fmt.Sprint(i), 0, false)
					mutex.Lock()
					defer mutex.Unlock()
					if got.Succeeded {
						winners++
					}
					return err
				})
			})
			return firstError(err, mismatch(winners, 1))
		}},
		{"GET_SCANNER", "one hash key, in batches", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c", "d", "e"), do(func(ctx context.Context) error {
				for _, batch := range []int{1, 2, 5, 100} {
					rows, err := t.table.Scan(ctx, t.hash, "", "", RangeOptions{StartInclusive: true, Count: batch})
					want := fmt.Sprintf("%[1]s/a=va %[1]s/b=vb %[1]s/c=vc %[1]s/d=vd %[1]s/e=ve", t.hash)
					if err = firstError(err, mismatch(strings.Join(rows, " "), want)); err != nil {
						return fmt.Errorf("batches of %d: %w", batch, err)
					}
				}
				return nil
			}))
		}},
		{"GET_SCANNER", "bounds, sort key filter, no values", func(t *apiTest) error {
			return firstError(t.fill("a1", "b1", "b2", "c1"), do(func(ctx context.Context) error {
				rows, err := t.table.Scan(ctx, t.hash, "a1", "c1", RangeOptions{StopInclusive: true, Count: 2,
					SortFilter: 3, SortPattern: "1", NoValue: true})
				return firstError(err, mismatch(strings.Join(rows, " "), fmt.Sprintf("%[1]s/b1= %[1]s/c1=", t.hash)))
			}))
		}},
		{"GET_SCANNER", "an empty range", func(t *apiTest) error {
			return do(func(ctx context.Context) error {
				rows, err := t.table.Scan(ctx, t.hash, "a", "b", RangeOptions{StartInclusive: true, Count: 2})
				return firstError(err, mismatch(len(rows), 0))
			})
		}},
		{"SCAN", "all partitions, by a hash key filter", func(t *apiTest) error {
			var want []string
			base := t.hash
			for i := 0; i < 40; i++ {
				t.hash = fmt.Sprintf("%s-scan-%02d", base, i)
				if err := t.fill("a", "b", "c"); err != nil {
					return err
				}
				for _, key := range []string{"a", "b", "c"} {
					want = append(want, fmt.Sprintf("%s/%s=v%s", t.hash, key, key))
				}
			}
			return do(func(ctx context.Context) error {
				for _, splits := range []int{1, 3, 100} {
					rows, err := t.table.ScanAll(ctx, splits, RangeOptions{Count: 7, HashFilter: 2, HashPattern: base + "-scan-"})
					sort.Strings(rows)
					if err = firstError(err, mismatch(strings.Join(rows, "\n"), strings.Join(want, "\n"))); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		{"CLEAR_SCANNER", "the connection goes on working", func(t *apiTest) error {
			return firstError(t.fill("a", "b", "c"), do(func(ctx context.Context) error {
				for i := 0; i < 3; i++ {
					if err := t.table.AbandonScan(ctx, t.hash); err != nil {
						return err
					}
				}
				return nil
			}), t.expectAll("a=va b=vb c=vc "))
		}},
	}
}

// api goes through the table of operations and edges, and prints it.
func api(name string, table Table) error {
	wide, ok := table.(Wide)
	if !ok {
		return fmt.Errorf("this version has no adapter")
	}
	failed := 0
	cases := apiCases()
	for i, c := range cases {
		err := c.run(&apiTest{table: wide, hash: fmt.Sprintf("%s.api.%d.%d", name, time.Now().UnixNano(), i)})
		verdict := "ok"
		if err != nil {
			verdict = fmt.Sprintf("FAILED: %v", err)
			failed++
		}
		fmt.Printf("row\t%s\t%s\t%s\n", c.operation, c.edge, verdict)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(cases))
	}
	fmt.Printf("api: ok, %d cases\n", len(cases))
	return nil
}
