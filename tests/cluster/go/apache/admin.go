// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/incubator-pegasus/go-client/admin"
	idl "github.com/apache/incubator-pegasus/go-client/idl/admin"
	"github.com/apache/incubator-pegasus/go-client/pegasus"
	"github.com/apache/incubator-pegasus/go-client/session"
)

const name = "made_by_go"

// administer creates a table, finds it in the list, writes to it, drops it, and looks at nodes and cluster.
func administer(metas []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client := admin.NewClient(admin.Config{MetaServers: metas})
	if err := client.DropTable(ctx, name); err != nil {
		return fmt.Errorf("drop of a table that does not exist: %w", err)
	}
	if err := client.CreateTable(ctx, name, 4); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := client.CreateTable(ctx, name, 4); err == nil {
		return errors.New("a second table of the same name was created")
	}
	if there, err := listed(ctx, client); err != nil || !there {
		return fmt.Errorf("the new table is not listed (%v)", err)
	}
	table, err := pegasus.NewClient(pegasus.Config{MetaServers: metas}).OpenTable(ctx, name)
	if err != nil {
		return err
	}
	if err := table.Set(ctx, []byte("h"), []byte("s"), []byte("v")); err != nil {
		return fmt.Errorf("set in the new table: %w", err)
	}
	if err := client.DropTable(ctx, name); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	if there, err := listed(ctx, client); err != nil || there {
		return fmt.Errorf("the dropped table is still listed (%v)", err)
	}
	if err := lookAround(ctx, metas); err != nil {
		return err
	}
	fmt.Println("admin: ok")
	return nil
}

func listed(ctx context.Context, client admin.Client) (bool, error) {
	tables, err := client.ListTables(ctx)
	for _, table := range tables {
		if table.Name == name {
			return true, nil
		}
	}
	return false, err
}

func lookAround(ctx context.Context, metas []string) error {
	manager := session.NewMetaManager(metas, session.NewNodeSession)
	nodes, err := manager.ListNodes(ctx, &idl.ListNodesRequest{Status: idl.NodeStatus_NS_INVALID})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	alive := 0
	for _, node := range nodes.Infos {
		if node.Status == idl.NodeStatus_NS_ALIVE && node.Address.GetAddress() != "" {
			alive++
		}
	}
	if alive < 3 {
		return fmt.Errorf("list nodes: %d alive of %d", alive, len(nodes.Infos))
	}
	info, err := manager.QueryClusterInfo(ctx, &idl.ClusterInfoRequest{})
	if err != nil {
		return fmt.Errorf("cluster info: %w", err)
	}
	if len(info.Keys) != 9 || len(info.Values) != 9 || info.Keys[0] != "meta_servers" || info.Keys[8] != "cluster_name" {
		return fmt.Errorf("cluster info: keys %v", info.Keys)
	}
	return nil
}
