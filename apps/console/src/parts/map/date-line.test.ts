import { expect, it } from 'vitest'
import { unrolled } from './date-line.ts'

it.each<[string, [number, number][], number[]]>([
  ['without points', [], []],
  [
    'within a hemisphere',
    [
      [10, 1],
      [12, 1],
    ],
    [10, 12],
  ],
  [
    'eastwards over the date line, and back',
    [
      [179, 0],
      [-179, 0],
      [-178, 0],
      [179, 0],
    ],
    [179, 181, 182, 179],
  ],
  [
    'westwards over the date line',
    [
      [-179, 0],
      [179, 0],
    ],
    [-179, -181],
  ],
  [
    'around the world',
    [
      [100, 0],
      [-100, 0],
      [0, 0],
      [100, 0],
    ],
    [100, 260, 360, 460],
  ],
])('a way %s is one line', (_, trail, longitudes) => {
  expect(unrolled(trail).map(([longitude]) => longitude)).toEqual(longitudes)
})
