/* The setting a user probably meant. Inside shared/config. */
#pragma once

#include "shared/config/setting.h"

/* The flag with the smallest edit distance, when it is at most a third of the name's length. */
bool nearest_name(const ConfigTable *table, Slice name, char ret_nearest[SETTING_VARIABLE_SIZE]);
