// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/apache/incubator-pegasus/go-client/admin"
	idl "github.com/apache/incubator-pegasus/go-client/idl/admin"
	"github.com/apache/incubator-pegasus/go-client/idl/base"
	"github.com/apache/incubator-pegasus/go-client/idl/radmin"
	"github.com/apache/incubator-pegasus/go-client/pegasus"
	"github.com/apache/incubator-pegasus/go-client/session"
)

const name = "made_by_go"

// administer makes every call that the version's admin and session packages have for administrators.
func administer(metas []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	if err := tablesOfClient(ctx, metas); err != nil {
		return err
	}
	if err := lookAround(ctx, metas); err != nil {
		return err
	}
	calls := newCalls(ctx, metas)
	defer calls.close()
	if err := calls.makeAll(); err != nil {
		return err
	}
	if err := calls.coverAll(); err != nil {
		return err
	}
	if err := remoteCommands(ctx, metas[0], calls.replica); err != nil {
		return err
	}
	fmt.Printf("admin: ok, %d calls\n", len(calls.made))
	return nil
}

// tablesOfClient creates a table, finds it in the list, writes to it, and drops it.
func tablesOfClient(ctx context.Context, metas []string) error {
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
	defer manager.Close()
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

// calls is every call of session.MetaManager and session.ReplicaSession for administrators, and which of them were made.
type calls struct {
	ctx      context.Context
	meta     *session.MetaManager
	replicas *session.ReplicaManager
	replica  string
	made     map[string]bool
}

func newCalls(ctx context.Context, metas []string) *calls {
	return &calls{ctx: ctx, meta: session.NewMetaManager(metas, session.NewNodeSession),
		replicas: session.NewReplicaManager(session.NewNodeSession), made: map[string]bool{}}
}

func (c *calls) close() {
	c.meta.Close()
	c.replicas.Close()
}

// makeOne calls receiver.method(ctx, request). wanted: the error's code; "" for none.
func (c *calls) makeOne(receiver interface{}, method string, request interface{}, wanted string) (interface{}, error) {
	c.made[method] = true
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	results := reflect.ValueOf(receiver).MethodByName(method).Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(request)})
	err, _ := results[1].Interface().(error)
	if wanted == "" && err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
		return nil, fmt.Errorf("%s: %v, where %s belongs", method, err, wanted)
	}
	return results[0].Interface(), nil
}

func (c *calls) makeAll() error {
	if err := c.makeThoseOfTables(); err != nil {
		return err
	}
	return c.makeThoseDisabled()
}

// makeThoseOfTables makes the calls whose work Arion does.
func (c *calls) makeThoseOfTables() error {
	const disk = "d0"
	options := &idl.CreateAppOptions{PartitionCount: 4, ReplicaCount: 3, AppType: "pegasus", IsStateful: true, Envs: map[string]string{}}
	created, err := c.makeOne(c.meta, "CreateApp", &idl.CreateAppRequest{AppName: name, Options: options}, "")
	if err != nil {
		return err
	}
	id := created.(*idl.CreateAppResponse).Appid
	if err := c.awaitPrimaries(4); err != nil {
		return err
	}
	op := idl.AppEnvOperation_APP_ENV_OP_SET
	trigger := time.Now().Unix()
	for _, call := range []struct {
		method  string
		request interface{}
	}{
		{"UpdateAppEnv", &idl.UpdateAppEnvRequest{AppName: name, Op: op, Keys: []string{"default_ttl"}, Values: []string{"1000"}}},
		{"MetaControl", &idl.MetaControlRequest{Level: idl.MetaFunctionLevel_fl_invalid}},
		{"StartManualCompact", &idl.StartAppManualCompactRequest{AppName: name, TriggerTime: &trigger}},
		{"QueryManualCompact", &idl.QueryAppManualCompactRequest{AppName: name}},
		{"ListNodes", &idl.ListNodesRequest{Status: idl.NodeStatus_NS_ALIVE}},
		{"QueryClusterInfo", &idl.ClusterInfoRequest{}},
	} {
		if _, err := c.makeOne(c.meta, call.method, call.request, ""); err != nil {
			return err
		}
	}
	apps, err := c.makeOne(c.meta, "ListApps", &idl.ListAppsRequest{Status: idl.AppStatus_AS_AVAILABLE}, "")
	if err != nil {
		return err
	}
	held, err := c.makeOne(c.meta, "QueryAppInfo", &idl.QueryAppInfoRequest{MetaServer: &base.RPCAddress{}}, "")
	if err != nil {
		return err
	}
	for _, infos := range [][]*idl.AppInfo{apps.(*idl.ListAppsResponse).Infos, held.(*idl.QueryAppInfoResponse).Apps} {
		if env := envOf(infos, "default_ttl"); env != "1000" {
			return fmt.Errorf("default_ttl is %q in the list", env)
		}
	}
	if err := c.movePrimary(id); err != nil {
		return err
	}
	seconds := int64(1000)
	drop := &idl.DropAppRequest{AppName: name, Options: &idl.DropAppOptions{ReserveSeconds: &seconds}}
	if _, err := c.makeOne(c.meta, "DropApp", drop, ""); err != nil {
		return err
	}
	if _, err := c.makeOne(c.meta, "RecallApp", &idl.RecallAppRequest{AppID: id}, ""); err != nil {
		return err
	}
	if err := c.awaitPrimaries(4); err != nil {
		return err
	}
	replica := c.replicas.GetReplica(c.replica)
	answer, err := c.makeOne(replica, "QueryDiskInfo", &radmin.QueryDiskInfoRequest{Node: &base.RPCAddress{}, AppName: name}, "")
	if err != nil {
		return err
	}
	if disks := answer.(*radmin.QueryDiskInfoResponse).DiskInfos; len(disks) == 0 || disks[0].Tag != disk {
		return fmt.Errorf("query disk info: %v", disks)
	}
	_, err = c.makeOne(c.meta, "DropApp", &idl.DropAppRequest{AppName: name, Options: &idl.DropAppOptions{}}, "")
	return err
}

func envOf(infos []*idl.AppInfo, key string) string {
	for _, info := range infos {
		if info.AppName == name {
			return info.Envs[key]
		}
	}
	return "none: the table is not there"
}

// awaitPrimaries waits until every partition has its three members, and keeps the address of one primary.
func (c *calls) awaitPrimaries(partitions int) error {
	c.made["QueryConfig"] = true
	for {
		config, err := c.meta.QueryConfig(c.ctx, name)
		if err != nil {
			return fmt.Errorf("query config: %w", err)
		}
		whole := 0
		for _, partition := range config.Partitions {
			if partition.Primary.GetRawAddress() != 0 && len(partition.Secondaries) == 2 {
				whole++
				c.replica = partition.Primary.GetAddress()
			}
		}
		if whole == partitions {
			return nil
		}
		select {
		case <-c.ctx.Done():
			return fmt.Errorf("%d of %d partitions have their members", whole, partitions)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// movePrimary has another member of partition 0 become primary, as admin-cli proposes it.
func (c *calls) movePrimary(id int32) error {
	config, err := c.meta.QueryConfig(c.ctx, name)
	if err != nil {
		return err
	}
	partition := config.Partitions[0]
	from, err := addressOf(partition.Primary.GetAddress())
	if err != nil {
		return err
	}
	to, err := addressOf(partition.Secondaries[0].GetAddress())
	if err != nil {
		return err
	}
	kind := idl.BalancerRequestType_move_primary
	_, err = c.makeOne(c.meta, "Balance", &idl.BalanceRequest{
		Gpid: &base.Gpid{Appid: id, PartitionIndex: 0},
		ActionList: []*idl.ConfigurationProposalAction{
			{Target: from, Node: from, Type: idl.ConfigType_CT_DOWNGRADE_TO_SECONDARY},
			{Target: to, Node: to, Type: idl.ConfigType_CT_UPGRADE_TO_PRIMARY}},
		BalanceType: &kind}, "")
	if err != nil {
		return err
	}
	for {
		config, err := c.meta.QueryConfig(c.ctx, name)
		if err != nil {
			return fmt.Errorf("the primary did not move: %w", err)
		}
		if config.Partitions[0].Primary.GetAddress() == to.GetAddress() {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func addressOf(text string) (*base.RPCAddress, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	return base.NewRPCAddress(net.ParseIP(host), number), err
}

// makeThoseDisabled makes the calls for what Arion does not have: each is answered, with the code that says so.
func (c *calls) makeThoseDisabled() error {
	const disabled = "ERR_OPERATION_DISABLED"
	path := "/backup"
	for _, call := range []struct {
		method  string
		request interface{}
	}{
		{"QueryBackupPolicy", &idl.QueryBackupPolicyRequest{PolicyNames: []string{"daily"}, BackupInfoCount: 1}},
		{"StartBackupApp", &idl.StartBackupAppRequest{BackupProviderType: "local", AppID: 1, BackupPath: &path}},
		{"QueryBackupStatus", &idl.QueryBackupStatusRequest{AppID: 1}},
		{"RestoreApp", &idl.RestoreAppRequest{ClusterName: "c", AppName: name, AppID: 1, NewAppName_: "restored", RestorePath: &path}},
		{"StartBulkLoad", &idl.StartBulkLoadRequest{AppName: name, ClusterName: "c", FileProviderType: "local", RemoteRootPath: path}},
		{"QueryBulkLoadStatus", &idl.QueryBulkLoadRequest{AppName: name}},
		{"ControlBulkLoad", &idl.ControlBulkLoadRequest{AppName: name, Type: idl.BulkLoadControlType_BLC_PAUSE}},
		{"ClearBulkLoad", &idl.ClearBulkLoadStateRequest{AppName: name}},
	} {
		if _, err := c.makeOne(c.meta, call.method, call.request, disabled); err != nil {
			return err
		}
	}
	// Duplications are there; that cluster is not.
	duplicate := &idl.DuplicationAddRequest{AppName: name, RemoteClusterName: "there"}
	if _, err := c.makeOne(c.meta, "AddDuplication", duplicate, "ERR_INVALID_PARAMETERS"); err != nil {
		return err
	}
	// Nor is the table, for splits neither.
	status := idl.DuplicationStatus_DS_PAUSE
	for _, call := range []struct {
		method  string
		request interface{}
	}{
		{"QueryDuplication", &idl.DuplicationQueryRequest{AppName: name}},
		{"ModifyDuplication", &idl.DuplicationModifyRequest{AppName: name, Dupid: 1, Status: &status}},
		{"StartPartitionSplit", &idl.StartPartitionSplitRequest{AppName: name, NewPartitionCount_: 8}},
		{"QuerySplitStatus", &idl.QuerySplitRequest{AppName: name}},
		{"ControlPartitionSplit", &idl.ControlSplitRequest{AppName: name, ControlType: idl.SplitControlType_PAUSE, ParentPidx: -1}},
	} {
		if _, err := c.makeOne(c.meta, call.method, call.request, "ERR_APP_NOT_EXIST"); err != nil {
			return err
		}
	}
	replica := c.replicas.GetReplica(c.replica)
	migrate := &radmin.ReplicaDiskMigrateRequest{Pid: &base.Gpid{Appid: 1}, OriginDisk: "d0", TargetDisk: "d1"}
	if _, err := c.makeOne(replica, "DiskMigrate", migrate, disabled); err != nil {
		return err
	}
	_, err := c.makeOne(replica, "AddDisk", &radmin.AddNewDiskRequest{DiskStr: "d1:/d1"}, disabled)
	return err
}

// coverAll says which call was forgotten: all of MetaManager but Close, and those of ReplicaSession without a partition.
func (c *calls) coverAll() error {
	request := reflect.TypeOf((*context.Context)(nil)).Elem()
	for _, kind := range []reflect.Type{reflect.TypeOf(c.meta), reflect.TypeOf(&session.ReplicaSession{})} {
		for i := 0; i < kind.NumMethod(); i++ {
			method := kind.Method(i)
			if method.Type.NumIn() == 3 && method.Type.In(1) == request && method.Type.NumOut() == 2 && !c.made[method.Name] {
				return fmt.Errorf("%v.%s was never called", kind, method.Name)
			}
		}
	}
	return nil
}

func remoteCommands(ctx context.Context, meta, replica string) error {
	for address, kind := range map[string]session.NodeType{meta: session.NodeTypeMeta, replica: session.NodeTypeReplica} {
		client := admin.NewRemoteCmdClient(address, kind)
		for command, wanted := range map[string]string{"server-info": "Arion ", "help": "config-dump", "nonsense": "unknown command"} {
			answer, err := client.Call(ctx, command, nil)
			if err != nil || !strings.Contains(answer, wanted) {
				return fmt.Errorf("%s of %s: %q, %v", command, address, answer, err)
			}
		}
		answer, err := client.Call(ctx, "config-set", []string{"text_log_level", "info"})
		if err != nil || !strings.Contains(answer, "OK") {
			return fmt.Errorf("config-set of %s: %q, %v", address, answer, err)
		}
	}
	return nil
}
