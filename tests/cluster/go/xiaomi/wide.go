// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"arion.test/driver"
	"github.com/XiaoMi/pegasus-go-client/pegasus"
)

// wide adapts this version's types to driver.Wide. harness.go_client builds the other version's from this file, too, with
// its import exchanged.
type wide struct{ pegasus.TableConnector }

func multiGetOptions(o driver.RangeOptions) *pegasus.MultiGetOptions {
	return &pegasus.MultiGetOptions{
		StartInclusive: o.StartInclusive,
		StopInclusive:  o.StopInclusive,
		SortKeyFilter:  pegasus.Filter{Type: pegasus.FilterType(o.SortFilter), Pattern: []byte(o.SortPattern)},
		MaxFetchCount:  o.Count,
		MaxFetchSize:   o.Size,
		Reverse:        o.Reverse,
		NoValue:        o.NoValue,
	}
}

func pairsOf(kvs []*pegasus.KeyValue) (pairs []driver.Pair) {
	for _, kv := range kvs {
		pairs = append(pairs, driver.Pair{SortKey: string(kv.SortKey), Value: string(kv.Value)})
	}
	return pairs
}

func (w wide) Points(ctx context.Context, hashKey string, sortKeys []string, o driver.RangeOptions) ([]driver.Pair, bool, error) {
	var keys [][]byte
	for _, key := range sortKeys {
		keys = append(keys, []byte(key))
	}
	kvs, all, err := w.MultiGetOpt(ctx, []byte(hashKey), keys, multiGetOptions(o))
	return pairsOf(kvs), all, err
}

func (w wide) Range(ctx context.Context, hashKey, start, stop string, o driver.RangeOptions) ([]driver.Pair, bool, error) {
	kvs, all, err := w.MultiGetRangeOpt(ctx, []byte(hashKey), []byte(start), []byte(stop), multiGetOptions(o))
	return pairsOf(kvs), all, err
}

func (w wide) Check(ctx context.Context, hashKey, sortKey string, checkType int, operand, setSortKey, setValue string, ttl int,
	returnValue bool) (driver.CheckedSet, error) {
	result, err := w.CheckAndSet(ctx, []byte(hashKey), []byte(sortKey), pegasus.CheckType(checkType), []byte(operand),
		[]byte(setSortKey), []byte(setValue),
		&pegasus.CheckAndSetOptions{SetValueTTLSeconds: ttl, ReturnCheckValue: returnValue})
	if err != nil {
		return driver.CheckedSet{}, err
	}
	return driver.CheckedSet{Succeeded: result.SetSucceed, Returned: result.CheckValueReturned,
		Exists: result.CheckValueExist, Value: string(result.CheckValue)}, nil
}

func scannerOptions(o driver.RangeOptions) *pegasus.ScannerOptions {
	return &pegasus.ScannerOptions{
		BatchSize:      o.Count,
		StartInclusive: o.StartInclusive,
		StopInclusive:  o.StopInclusive,
		HashKeyFilter:  pegasus.Filter{Type: pegasus.FilterType(o.HashFilter), Pattern: []byte(o.HashPattern)},
		SortKeyFilter:  pegasus.Filter{Type: pegasus.FilterType(o.SortFilter), Pattern: []byte(o.SortPattern)},
		NoValue:        o.NoValue,
	}
}

func drain(ctx context.Context, scanner pegasus.Scanner) (rows []string, err error) {
	for {
		completed, hashKey, sortKey, value, err := scanner.Next(ctx)
		if err != nil || completed {
			return rows, err
		}
		rows = append(rows, fmt.Sprintf("%s/%s=%s", hashKey, sortKey, value))
	}
}

func (w wide) Scan(ctx context.Context, hashKey, start, stop string, o driver.RangeOptions) ([]string, error) {
	scanner, err := w.GetScanner(ctx, []byte(hashKey), []byte(start), []byte(stop), scannerOptions(o))
	if err != nil {
		return nil, err
	}
	return drain(ctx, scanner)
}

func (w wide) ScanAll(ctx context.Context, splits int, o driver.RangeOptions) (rows []string, err error) {
	scanners, err := w.GetUnorderedScanners(ctx, splits, scannerOptions(o))
	if err != nil {
		return nil, err
	}
	for _, scanner := range scanners {
		part, err := drain(ctx, scanner)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	return rows, nil
}

func (w wide) Batch(ctx context.Context, keys []driver.FullKey) (values []string, err error) {
	var asked []pegasus.CompositeKey
	for _, key := range keys {
		asked = append(asked, pegasus.CompositeKey{HashKey: []byte(key.HashKey), SortKey: []byte(key.SortKey)})
	}
	got, err := w.BatchGet(ctx, asked)
	for _, value := range got {
		if value == nil {
			value = []byte("-")
		}
		values = append(values, string(value))
	}
	return values, err
}

func (w wide) AbandonScan(ctx context.Context, hashKey string) error {
	o := driver.RangeOptions{StartInclusive: true, Count: 1}
	scanner, err := w.GetScanner(ctx, []byte(hashKey), nil, nil, scannerOptions(o))
	if err != nil {
		return err
	}
	if _, _, _, _, err := scanner.Next(ctx); err != nil {
		return err
	}
	scanner.Close() // reports a time-out after 100 ms, because closing is never answered
	return nil
}
