import { expect, it } from 'vitest'
import { mapHandlers, originsOf } from './map.ts'

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

it('a page gets the style, and the origins that it may send requests to', () => {
  const map = { style: 'https://maps.example/style.json', hosts: ['https://tiles.example'] }
  expect(mapHandlers({ map })['map.background']()).toEqual({
    style: map.style,
    hosts: ['https://maps.example', 'https://tiles.example'],
  })
})
