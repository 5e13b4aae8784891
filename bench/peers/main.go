// SPDX-License-Identifier: Apache-2.0

// etcd_load puts records of one size into an etcd cluster in a closed loop and prints a line of figures.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3"
)

// leader is the endpoint of the member that leads: the others would have to pass each put on to it.
func leader(endpoints []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second})
	if err != nil {
		return "", err
	}
	defer client.Close()
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		for _, endpoint := range endpoints {
			status, err := client.Status(ctx, endpoint)
			if err == nil && status.Leader == status.Header.MemberId {
				return endpoint, nil
			}
		}
	}
	return "", fmt.Errorf("none of %v leads", endpoints)
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

// connect makes that many connections to one member.
func connect(endpoint string, connections int) ([]*clientv3.Client, error) {
	clients := make([]*clientv3.Client, connections)
	for i := range clients {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second})
		if err != nil {
			return nil, err
		}
		clients[i] = client
	}
	return clients, nil
}

// load is what all threads put, and when it counts.
type load struct {
	value        string
	keys         int64
	begin, end   time.Time
	next, failed int64
}

// run puts one value after the other until the end, and returns how long those took that count.
func (l *load) run(client *clientv3.Client) []time.Duration {
	var latencies []time.Duration
	for {
		started := time.Now()
		if started.After(l.end) {
			return latencies
		}
		n := atomic.AddInt64(&l.next, 1) * 2654435761 % l.keys
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := client.Put(ctx, fmt.Sprintf("user%016d", n), l.value)
		cancel()
		if started.Before(l.begin) {
			continue
		}
		if err != nil {
			atomic.AddInt64(&l.failed, 1)
			continue
		}
		latencies = append(latencies, time.Since(started))
	}
}

// report prints the figures of all puts that count.
func report(latencies [][]time.Duration, failed int64, seconds float64) error {
	var sorted []time.Duration
	var sum time.Duration
	for _, of := range latencies {
		sorted = append(sorted, of...)
		for _, one := range of {
			sum += one
		}
	}
	if len(sorted) == 0 {
		return fmt.Errorf("no put succeeded")
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	at := func(share float64) int64 { return sorted[int(share*float64(len(sorted)-1))].Microseconds() }
	fmt.Printf("ops=%d errors=%d ops/s=%.0f avg_us=%d p50_us=%d p99_us=%d p999_us=%d\n", len(sorted), failed,
		float64(len(sorted))/seconds, (sum / time.Duration(len(sorted))).Microseconds(), at(0.5), at(0.99), at(0.999))
	return nil
}

func main() {
	endpoints := flag.String("endpoints", "127.0.0.1:2379", "of all members, with commas between; all puts go to the one that leads")
	threads := flag.Int("threads", 45, "puts under way")
	connections := flag.Int("connections", 15, "that the threads share")
	size := flag.Int("size", 1000, "bytes of a value")
	keys := flag.Int("keys", 100000, "that are written, one after the other")
	seconds := flag.Float64("seconds", 5, "measured")
	warmUp := flag.Float64("warmup", 1, "seconds before")
	flag.Parse()

	endpoint, err := leader(strings.Split(*endpoints, ","))
	if err != nil {
		fail(err)
	}
	clients, err := connect(endpoint, *connections)
	if err != nil {
		fail(err)
	}
	begin := time.Now().Add(time.Duration(*warmUp * float64(time.Second)))
	puts := load{value: strings.Repeat("v", *size), keys: int64(*keys), begin: begin,
		end: begin.Add(time.Duration(*seconds * float64(time.Second)))}
	latencies := make([][]time.Duration, *threads)
	var all sync.WaitGroup
	for thread := 0; thread < *threads; thread++ {
		all.Add(1)
		go func(thread int) {
			defer all.Done()
			latencies[thread] = puts.run(clients[thread%len(clients)])
		}(thread)
	}
	all.Wait()
	for _, client := range clients {
		client.Close()
	}
	if err := report(latencies, puts.failed, *seconds); err != nil {
		fail(err)
	}
}
