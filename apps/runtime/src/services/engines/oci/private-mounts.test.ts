import { describe, expect, it } from 'vitest'
import { hidesNetworks } from './private-mounts.ts'

const root = (fields: string) => `27 1 254:0 / / rw,relatime ${fields}- ext4 /dev/vda rw`
const at = (path: string, fields: string) =>
  `44 27 254:0 ${path} ${path} rw,relatime ${fields}- tmpfs tmpfs rw`

describe('the networks of containers', () => {
  it.each<[string, boolean, string[]]>([
    ['hidden below a private mount', true, [root('')]],
    ['seen below a shared mount', false, [root('shared:1 ')]],
    ['seen in a namespace that receives mounts', false, [root('master:1 ')]],
    ['hidden below one that cannot be bound', true, [root('unbindable ')]],
    ['seen where /run is shared', false, [root(''), at('/run', 'shared:13 ')]],
    ['hidden where only /run is private', true, [root('shared:1 '), at('/run', '')]],
    ['seen where their folder is shared', false, [root(''), at('/run', ''), at('/run/netns', 'shared:2 ')]],
    [
      'hidden where a private mount covers a shared one',
      true,
      [root(''), at('/run', 'shared:2 '), at('/run', '')],
    ],
    [
      'not changed by mounts elsewhere',
      true,
      [root(''), at('/running', 'shared:2 '), at('/run/netns/a', 'shared:3 ')],
    ],
    [
      'not changed by a path with the text of a field',
      true,
      [root(''), at('/run', '').replace('tmpfs rw', 'shared:1 rw')],
    ],
    ['not judged without mounts', false, ['']],
  ])('are %s', (_, expected, lines) => {
    expect(hidesNetworks(`${lines.join('\n')}\n`)).toBe(expected)
  })
})
