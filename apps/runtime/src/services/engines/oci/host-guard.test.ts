/** The order of changes of the packet filter, with a table in memory that can hold its calls. */
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Exception, guardWith } from './host-guard.ts'

const network = 'selvedge-a'
const subnet = '10.89.0.0/24'
const exception = (port: number): Exception => ({ to: '192.0.2.1', protocol: 'tcp', port })

/** A table like that of iptables(8) for `-C`, `-I`, `-D` and `-S`: an absent rule is an error. */
function tableInMemory() {
  const rules: string[] = []
  let held: { readonly isHeld: (call: string) => boolean; readonly until: Promise<void> } | undefined
  async function call(verb = '', ...args: readonly string[]): Promise<string> {
    const rule = args.join(' ')
    const stop = held?.isHeld(`${verb} ${rule}`) ? held.until : undefined
    if (stop) held = undefined
    await stop
    const at = rules.indexOf(rule)
    if (verb === '-S') return rules.map((each) => `-A ${each}`).join('\n')
    if (verb === '-I') rules.unshift(rule)
    else if (at === -1) throw new Error(`no such rule: ${rule}`)
    else if (verb === '-D') rules.splice(at, 1)
    return ''
  }
  return {
    call,
    rules,
    /** Holds the next such call. @returns lets it continue */
    hold(isHeld: (call: string) => boolean): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = { isHeld, until: promise }
      return resolve
    },
    ports: () => rules.flatMap((each) => /--dport (\d+)/.exec(each)?.[1] ?? []),
  }
}

async function guarded(...ports: readonly number[]) {
  const table = tableInMemory()
  const guard = guardWith(table.call, undefined)
  await guard.protect(network, subnet)
  await guard.except(network, ports.map(exception))
  return { table, guard }
}

it('adds no former exception while new ones are set, and a check is under way', async () => {
  const { table, guard } = await guarded(1)
  const goOn = table.hold((call) => call.startsWith('-C') && call.includes('--dport 1 '))
  const checking = guard.checkAll()
  await turnOfLoop()
  const excepting = guard.except(network, [exception(2)])
  await turnOfLoop()
  goOn()
  await Promise.all([checking, excepting])
  expect(table.ports()).toEqual(['2'])
})

it('adds no rule of a network that is released while a check is under way', async () => {
  const { table, guard } = await guarded(1)
  const goOn = table.hold((call) => call.startsWith('-C') && call.endsWith('REJECT'))
  const checking = guard.checkAll()
  await turnOfLoop()
  const releasing = guard.release(network)
  await turnOfLoop()
  goOn()
  await Promise.all([checking, releasing])
  expect(table.rules).toEqual([])
})

it('changes another network while a change of one waits', async () => {
  const { table, guard } = await guarded(1)
  const goOn = table.hold((call) => call.startsWith('-C'))
  const checking = guard.checkAll()
  await turnOfLoop()
  await guard.protect('selvedge-b', '10.89.1.0/24')
  expect(table.rules.filter((each) => each.includes('selvedge-b'))).toHaveLength(1)
  goOn()
  await checking
})

it('refuses everything but the exceptions, again after another program replaced the table', async () => {
  const { table, guard } = await guarded(1, 2)
  const whole = [...table.rules]
  expect(whole.at(-1)).toMatch(/-s 10\.89\.0\.0\/24 .*-j REJECT$/)
  expect(table.ports().toSorted()).toEqual(['1', '2'])
  table.rules.length = 0
  await guard.checkAll()
  expect(table.rules).toEqual(whole)
  // The rule that refuses is put in front of exceptions that stayed.
  table.rules.pop()
  await guard.checkAll()
  expect(table.rules.at(-1)).toMatch(/REJECT$/)
  expect(table.rules).toHaveLength(3)
})

it('lets no packet of a closed network out, also after exceptions and after another program replaced the table', async () => {
  const table = tableInMemory()
  const guard = guardWith(table.call, undefined)
  await guard.protect(network, subnet, true)
  await guard.except(network, [exception(1)])
  const forwarded = () => table.rules.filter((each) => each.startsWith('FORWARD '))
  expect(forwarded()).toEqual([expect.stringMatching(/-s 10\.89\.0\.0\/24 .*-j REJECT$/)])
  table.rules.length = 0
  await guard.checkAll()
  expect(forwarded()).toHaveLength(1)
  await guard.protect('selvedge-b', '10.89.1.0/24')
  expect(forwarded()).toHaveLength(1)
  await guard.release(network)
  expect(forwarded()).toEqual([])
})

it('runs the packet filter four times for a container that starts', async () => {
  const table = tableInMemory()
  const verbs: string[] = []
  const guard = guardWith((verb = '', ...args) => {
    verbs.push(verb)
    return table.call(verb, ...args)
  }, undefined)
  await guard.protect(network, subnet)
  await guard.except(network, [exception(1)])
  expect(verbs).toEqual(['-C', '-I', '-S', '-I'])
  expect(table.ports()).toEqual(['1'])
})

it.each([
  ['refuses less', 'INPUT -s 10.89.0.0/32 -m conntrack --ctstate NEW'],
  ['refuses other connections', 'INPUT -s 10.89.0.0/24 -m conntrack --ctstate INVALID'],
])('adds its rule beside one of another program with its name that %s', async (_, other) => {
  const { table, guard } = await guarded()
  const [own = ''] = table.rules
  table.rules.splice(0, 1, `${other} -m comment --comment ${network} -j REJECT`)
  await guard.except(network, [exception(1)])
  expect(table.rules).toContain(own)
  expect(table.ports()).toEqual(['1'])
})

it('changes nothing more after a change that failed, and continues with the next one', async () => {
  const { table, guard } = await guarded()
  await expect(guard.protect(network, '0.0.0.0/0')).rejects.toMatchObject({ reason: 'engine_unavailable' })
  await guard.except(network, [exception(3)])
  expect(table.ports()).toEqual(['3'])
})

it('removes all rules of a network after a change of them that failed, and no rule of another one', async () => {
  const { table, guard } = await guarded(1)
  await guard.protect(`${network}b`, '10.89.1.0/24')
  const fail = table.call
  const failing = guardWith((verb, ...args) => {
    if (verb === '-I' && args.includes('3')) return Promise.reject(new Error('no memory'))
    return fail(verb, ...args)
  }, undefined)
  await failing.protect(network, subnet)
  await expect(failing.except(network, [exception(2), exception(3)])).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringContaining('no memory'),
  })
  expect(table.ports()).toEqual(['2'])
  await failing.release(network)
  expect(table.rules).toHaveLength(1)
  expect(table.rules[0]).toContain(`--comment ${network}b `)
})

it('runs nothing where there is no protection', async () => {
  const guard = guardWith(() => Promise.reject(new Error('was run')), 'there is no iptables')
  await guard.protect(network, subnet)
  await guard.except(network, [exception(1)])
  await guard.release(network)
  await guard.releaseOthers('selvedge-', [])
  await guard.checkAll()
  expect(guard.missing).toBe('there is no iptables')
})
