#!/usr/bin/env node
/** Entry point. Requirements are checked first, because an old Node cannot parse the other modules of the program. */
import '../scripts/requirements.cjs';

void import('./program.ts');
