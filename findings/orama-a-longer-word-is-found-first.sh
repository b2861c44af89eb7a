#!/usr/bin/env bash
# Orama's full-text search takes each word of a query as the beginning of a word, and adds up the
# scores of all words that begin so. Asked for "cat", it puts a text on categories and catalogues,
# without that word, before the text that is "cat", and evaluations that count on BM25 of whole
# words do not see why.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work"
npm install --silent --no-audit --no-fund --ignore-scripts --no-update-notifier @orama/orama@3.1.18
cat > see.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { create, insertMultiple, search } from '@orama/orama';

const index = create({ schema: { text: 'string' } });
await insertMultiple(index, [
  { id: 'animal', text: 'cat' },
  { id: 'animals', text: 'the cat sat on the mat with another cat' },
  { id: 'theory', text: 'category theory catalogue' },
  { id: 'other', text: 'dog' },
]);
const ranking = async (options) =>
  (await search(index, { term: 'cat', ...options })).hits.map((hit) => hit.id);
const seen = await ranking({});
const exact = await ranking({ exact: true });
console.log('orama', JSON.parse(readFileSync('node_modules/@orama/orama/package.json')).version);
console.log("expected: 'animal' first, as with exact: true:", exact);
console.log('seen:    ', seen);
const is_known =
  JSON.stringify(seen) === '["theory","animal","animals"]' &&
  JSON.stringify(exact) === '["animal","animals"]';
if (!is_known) throw new Error('changed');
JS
timeout 60 unshare -rn node see.mjs
