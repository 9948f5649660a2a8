/** Of the command line: releases and upgrades. */
import { type Equivalent, of } from './equivalent.ts'

export const cli: readonly Equivalent[] = [
  ...of(
    'apps/cli/src/release/statement.ts',
    [
      'for (let at = 0; at < Math.max(first.length, second.length); at++) {',
      'at < Math.max(first.length, second.length) → at <= Math.max(first.length, second.length)',
      'beyond the end, both parts are undefined, and equal',
    ],
    ['return one < two ? -1 : 1', 'one < two → one <= two', 'equal parts are skipped before'],
  ),
]
