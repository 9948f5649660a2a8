/** What functions get of modules that would show the device: constants, and a name server that knows nothing. */
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createMachine } from './machine.ts'
import { createNames } from './names.ts'

const os = createMachine() as typeof import('node:os')
const dns = createNames() as unknown as typeof import('node:dns')

it('a function sees a machine of constants', () => {
  expect(hostname()).not.toBe('function')
  expect(os.hostname()).toBe('function')
  expect([os.homedir(), os.tmpdir(), os.EOL]).toEqual(['/tmp', '/tmp', '\n'])
  expect([os.networkInterfaces(), os.loadavg(), os.cpus().length]).toEqual([{}, [0, 0, 0], 1])
  expect(os.userInfo()).toMatchObject({ uid: 65_534, username: 'nobody' })
  expect([os.release(), os.version()]).toEqual(['0.0.0', 'function'])
  expect(os.totalmem()).toBe(2 * os.freemem())
})

it('shares no object with another caller', () => {
  os.cpus()[0]!.model = 'changed'
  os.userInfo().username = 'changed'
  expect([os.cpus()[0]!.model, os.userInfo().username]).toEqual(['function', 'nobody'])
})

it('a function has no name server: names fail with the code of Node.js and a hint', async () => {
  const refused = { code: 'ENOTFOUND', message: expect.stringContaining('MCM.OUTBOUND') }
  await expect(dns.promises.lookup('device.test')).rejects.toMatchObject({
    ...refused,
    syscall: 'getaddrinfo',
  })
  await expect(promisify(dns.lookup)('localhost')).rejects.toMatchObject(refused)
  await expect(dns.promises.resolve4('device.test')).rejects.toMatchObject({ ...refused, syscall: 'query4' })
  await expect(new dns.promises.Resolver().resolveMx('device.test')).rejects.toMatchObject(refused)
  const called = await new Promise((resolve) => new dns.Resolver().reverse('10.0.0.1', resolve))
  expect(called).toMatchObject(refused)
  expect([dns.getServers(), dns.NOTFOUND]).toEqual([[], 'ENOTFOUND'])
})

it('addresses are their own answer', async () => {
  expect(await dns.promises.lookup('10.0.0.1')).toEqual({ address: '10.0.0.1', family: 4 })
  expect(await promisify(dns.lookup)('::1')).toEqual({ address: '::1', family: 6 })
  const given = await new Promise((resolve) => dns.lookup('10.0.0.1', {}, (...all) => resolve(all)))
  expect(given).toEqual([null, '10.0.0.1', 4])
  expect(await dns.promises.lookup('10.0.0.1', { all: true })).toEqual([{ address: '10.0.0.1', family: 4 }])
})
