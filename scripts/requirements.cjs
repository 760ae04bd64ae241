// Ends the process with one sentence if the program cannot run: on a Node that is too old, or on Windows. It runs
// before any other file, so it is written such that a Node of any age can parse it.
'use strict';

var wanted = require('../package.json').engines.node.replace(/[^\d.]/g, '');
var unmet = whatIsUnmet();
if (unmet !== undefined) {
  process.stderr.write('ledger-indexer: ' + unmet + '\n');
  process.exit(78);
}

function whatIsUnmet() {
  if (process.platform === 'win32')
    return 'it runs on Linux and macOS, not on Windows: start it in WSL 2 or in a container';
  if (!isOlder(process.versions.node.split('.'), wanted.split('.'))) return undefined;
  return (
    'this is Node ' +
    process.versions.node +
    ', and Node ' +
    wanted +
    ' or newer is needed: install one from https://nodejs.org'
  );
}

function isOlder(found, asked) {
  for (var i = 0; i < asked.length; i += 1) {
    if (Number(found[i]) !== Number(asked[i])) return Number(found[i]) < Number(asked[i]);
  }
  return false;
}
