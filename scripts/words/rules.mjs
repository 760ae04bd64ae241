/** Words and patterns that the prose of this project avoids, each with a replacement. */

/** @typedef {{ pattern: RegExp, instead: string }} Rule */

/** @param {string} source @param {string} instead @returns {Rule} */
const word = (source, instead) => ({ pattern: new RegExp(`\\b(?:${source})\\b`, 'i'), instead });

/** @type {readonly Rule[]} */
export const rules = [
  word('told|tells?', 'report, log, notify, return'),
  word('asked|asks', 'request, query, poll'),
  word('shown|shows', 'return; is visible to'),
  word('anew', 'again; re-create, rewrite'),
  word('beside', 'in the background, concurrently, next to, in addition to'),
  word('whole', 'complete, entire'),
  word('stands?(?! ?by\\b)', 'is, is listed'),
  word('goes on|go on', 'continues, resumes'),
  word('else', 'otherwise'),
  word('stretch(?:es)?', 'offset range'),
  word('set aside', 'quarantine'),
  word('former', 'previous'),
  word('gather(?:s|ed|ing)?', 'stage, backfill, collect'),
  word('level(?= with)', 'caught up'),
  word('dear(?:er)?', 'expensive'),
  word('for ever', 'forever'),
  word('mend(?:ed)?', 'fix'),
  word('nobody|everybody|somebody', 'no one, any client, a user'),
  word('by itself', 'automatically'),
  word('once more', 'again'),
  word('looks? at', 'checks, polls'),
  word('laid|taken up', 'closed, opened'),
  word('cut', 'interrupted, truncated'),
  word('given up', 'cancelled, abandoned'),
  word('rooms?|shelf|shelves', 'module; disk space'),
  word('stranger', 'untrusted role, third party'),
  word('lawful', 'expected, valid'),
  word('sooner', 'faster, earlier'),
  word('namesake', 'of the same name'),
  word('works (?:stop|resume|cancel)', 'jobs pause, resume, cancel'),
  {
    pattern: /(?:^|[.:] )(?:\*\*)?(?:What|Who|Whoever|Those) (?![^.]*\?)/,
    instead: 'a noun: the indexer, the client, the job',
  },
];
