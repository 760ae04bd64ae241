#!/usr/bin/env node
/** Entry point. The requirements are checked first, because an old Node cannot parse the rest of the program. */
import '../scripts/requirements.cjs';

void import('./program.ts');
