#!/usr/bin/env node
/** Entry point. Requirements are checked before anything is loaded that an old Node could not read. */
import '../scripts/requirements.cjs';

void import('./program.ts');
