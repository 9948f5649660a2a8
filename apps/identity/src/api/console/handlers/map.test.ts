import { expect, it } from 'vitest'
import { originsOf } from './map.ts'

it.each<[string, readonly string[], readonly string[]]>([
  ['', [], []],
  ['', ['https://tiles.example'], []],
  ['https://maps.example/style.json?key=1', [], ['https://maps.example']],
  ['https://tiles.example:8443/{z}/{x}/{y}.png', [], ['https://tiles.example:8443']],
  [
    'https://maps.example/style.json',
    ['https://tiles.example', 'https://maps.example'],
    ['https://maps.example', 'https://tiles.example'],
  ],
])('the style %j with the hosts %j allows requests to %j', (style, hosts, origins) => {
  expect(originsOf({ style, hosts })).toEqual(origins)
})
