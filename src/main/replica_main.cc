// arion_replica: one replica server.
// SPDX-License-Identifier: Apache-2.0
#include "main/replica_process.h"

int main(int argc, char** argv) { return arion::RunReplicaServer(argc, argv); }
