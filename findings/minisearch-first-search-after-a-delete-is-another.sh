#!/usr/bin/env bash
# MiniSearch clears discarded documents out of its index while it searches, term by term, and counts
# the ones that it has not met yet as matches. The first search after a delete thus scores with a
# wrong document frequency, here even below zero, and puts the best document last; the same search
# asked again is right. A warm-up query or a second run decides which ranking is measured.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work"
npm install --silent --no-audit --no-fund --ignore-scripts --no-update-notifier minisearch@7.2.0
cat > see.mjs <<'JS'
import { readFileSync } from 'node:fs';
import MiniSearch from 'minisearch';

const kept = [
  { id: 'cat', text: 'cat' },
  { id: 'dog', text: 'dog' },
  { id: 'dog house', text: 'dog dog house' },
  { id: 'house 1', text: 'house' },
  { id: 'house 2', text: 'house' },
];
const old = Array.from({ length: 15 }, (_, number) => ({ id: `old ${number}`, text: 'cat' }));
const search = (index) =>
  index.search('cat dog').map((hit) => [hit.id, Number(hit.score.toFixed(2))]);

const index = new MiniSearch({ fields: ['text'] });
index.addAll([...kept, ...old]);
old.forEach((document) => index.discard(document.id));
const first = search(index);
const second = search(index);
const fresh = new MiniSearch({ fields: ['text'] });
fresh.addAll(kept);
const right = search(fresh);
console.log('minisearch', JSON.parse(readFileSync('node_modules/minisearch/package.json')).version);
console.log('an index of 20 documents, 15 discarded; the same search twice');
console.log('expected: as an index of the 5 that remain:', JSON.stringify(right));
console.log('seen:     first: ', JSON.stringify(first));
console.log('          second:', JSON.stringify(second));
const last = first[first.length - 1];
const is_known =
  JSON.stringify(second) === JSON.stringify(right) &&
  right[0][0] === 'cat' && last[0] === 'cat' && last[1] < 0;
if (!is_known) throw new Error('changed');
JS
timeout 60 unshare -rn node see.mjs
