// What a mutation and a survey say in one line of text.
//
// Shapes    Keys are any bytes and come out escaped, as the shell writes them: \xHH, \n, \\.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutation.h"
#include "tools/log/dump.h"
#include "wal/log_survey.h"

namespace arion::logtool {

// "  4  ballot 4  ..." with a line end.
std::string MutationText(const Mutation& mutation, KeyForm keys);
// "hash : sort" of every key the update names; "?" with a reason when its payload can't be read.
std::string KeysText(const Update& update);
std::string EscapeBytes(std::string_view bytes);

std::string HeaderText(const SurveyedFile& survey);
std::string DecreeText(const std::map<PartitionId, SurveyedPartition>& partitions);

// Columns padded to their widest cell; numbers to the right.
std::string TableText(const std::vector<std::vector<std::string>>& rows);

}  // namespace arion::logtool
