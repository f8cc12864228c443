#include "match/target.h"
