#!/usr/bin/env node
/**
 * Checks the subject of a commit: `area: imperative`, at most 72 characters. As a git hook it gets the file of the
 * message: `git config core.hooksPath scripts/hooks`. If there is no file, it checks the subjects of the newest
 * commits.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const mostCharacters = 72;
const form = /^[a-z0-9][a-z0-9-]*: [a-z`]\S*( \S+)*[^.]$/;
/** Past tense, third person and `-ing` forms are not imperatives. */
const notImperative = /^[a-z0-9-]+: (?:\w+ing|\w+ed|adds|fixes|makes|removes|changes|uses|moves|renames)\b/;
const exceptions = new Set(['embed', 'feed', 'need', 'bring', 'string', 'ping', 'speed', 'seed']);

/** @param {string} subject @returns {string | undefined} what is wrong with it */
function problemOf(subject) {
  if (subject.length > mostCharacters) return `expected at most ${mostCharacters} characters, got ${subject.length}`;
  if (!form.test(subject))
    return 'expected `area: imperative` without a full stop, such as `store: add an index on offsets`';
  const verb = /: (\w+)/.exec(subject)?.[1] ?? '';
  if (notImperative.test(subject) && !exceptions.has(verb)) return `expected an imperative, got "${verb}"`;
  return undefined;
}

const [file] = process.argv.slice(2);
const subjects =
  file === undefined
    ? execFileSync('git', ['log', '-30', '--no-merges', '--format=%s'], { encoding: 'utf8' }).trim().split('\n')
    : [readFileSync(file, 'utf8').split('\n')[0] ?? ''];
for (const subject of subjects) {
  const problem = problemOf(subject);
  if (problem === undefined || /^(Merge|Revert|fixup!|squash!) /.test(subject)) continue;
  console.error(`commit subject "${subject}": ${problem}`);
  process.exitCode = 1;
}
