#!/usr/bin/env node
/** Where the program begins. What it needs is looked at before anything is read that an old Node could not read. */
import '../scripts/requirements.cjs';

void import('./program.ts');
