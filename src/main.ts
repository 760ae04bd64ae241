#!/usr/bin/env node
/** Entry point. Checks the requirements first: an old Node cannot parse the rest of the program. */
import '../scripts/requirements.cjs';

void import('./program.ts');
