// SPDX-License-Identifier: BSD-3-Clause
// Slot numbers of the names in names.h, and their texts.
#pragma once

#include "preload/names.h"

#define UNISONO_SLOT(name) unisono_slot_##name,
enum UnisonoSlot { UNISONO_NAMES(UNISONO_SLOT) unisono_slot_count };
#undef UNISONO_SLOT
