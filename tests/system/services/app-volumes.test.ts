/** Volumes that members of an app share, on a real Podman: members agree about owners, and a hostile one gets only what is in the volume. */
import type { AppPlan } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

type Member = AppPlan['services'][number]

describe('volumes that members of an app share', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let stack: PodmanServices
  let podman: Podman
  let services: Services
  let image: string
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    const files = [
      { path: 'files', type: 'Directory' as const },
      { path: 'files/of-image', content: 'from the image\n' },
    ]
    image = (await services.deployImage(cgiImage({ name: 'member', script: 'echo page', files }))).id
  })
  afterAll(() => stack?.stop())

  const token = () => ({ edgeAccessToken: services.token })
  const member = (name: string, volumes: Member['volumes'], env: Record<string, string> = {}): Member => ({
    ...{ name, image: '', pull: 'never', platform: null, hostname: null, isBehindGateway: false },
    ...{ dependsOn: [], restart: 'always', maxRestarts: null, needsInit: false, volumes },
    ...{ addCapabilities: [], dropCapabilities: [], networks: [], secrets: [], configs: [] },
    env: { 'MCM.READY': 'none', ...env },
  })
  const files = (target: string, isReadOnly = false) => ({ volume: 'Files', target, isReadOnly })
  const mine = { volume: 'mine', target: '/mine', isReadOnly: false }
  const deploy = (name: string, ...members: readonly Member[]) =>
    services.runtime().deployApp({
      ...token(),
      plan: {
        ...{ name, networks: [], secrets: [], configs: [] },
        services: members.map((each) => ({ ...each, image })),
        volumes: [{ name: 'Files' }, { name: 'mine' }],
      },
    })
  /** The container of a member that runs. */
  const idOf = (name: string) =>
    podman
      .run('ps', '--format', '{{index .Labels "dev.selvedge.container"}} {{.ID}}')
      .split('\n')
      .find((each) => each.includes(`/${name} `))
      ?.replace(/^.* /, '')
  const inside = (name: string, commands: string, user = '0') =>
    podman
      .run('exec', '--user', user, idOf(name)!, '/bin/busybox', 'sh', '-c', `(${commands}) 2>&1 || true`)
      .trim()
  /** First user ID of a container on the device. */
  const firstId = (name: string) => inside(name, 'cat /proc/self/uid_map').split(/\s+/)[1]

  const writer = member('writer', [files('/files')])
  const reader = member('reader', [files('/srv', true), mine])
  const alone = member('alone', [{ volume: null, target: '/data', isReadOnly: false }])

  it('have the content of the image, and files with the same owners for all members', async () => {
    await deploy('pair', writer, reader, alone)
    expect(inside('pair-reader', 'cat /srv/of-image')).toBe('from the image')
    inside('pair-writer', 'echo written >/files/x && chown 33:7 /files/x && chmod 600 /files/x')
    expect(inside('pair-reader', 'stat -c "%u:%g" /srv/x')).toBe('33:7')
    expect(inside('pair-reader', 'cat /srv/x', '33')).toBe('written')
    expect(inside('pair-reader', 'cat /srv/x', '34')).toContain('Permission denied')
  })

  it('cannot be written by a member that has them read-only', () => {
    expect(inside('pair-reader', 'echo x >/srv/y')).toContain('Read-only file system')
    expect(inside('pair-reader', 'chmod 666 /srv/x')).toContain('Read-only file system')
    expect(inside('pair-reader', 'mount -o remount,rw /srv && echo x >/srv/y')).toMatch(
      /denied|not permitted|must be superuser/i,
    )
  })

  it('give their members one range of user IDs, which nothing else has', async () => {
    const own = { ...token(), spec: { name: 'single', image, env: { 'MCM.VOLUMES': 'files:/files' } } }
    await services.runtime().deployContainer(own)
    await deploy('other', member('reader', [files('/files', true)]), member('writer', [files('/files')]))
    expect(firstId('pair-reader')).toBe(firstId('pair-writer'))
    expect(firstId('other-reader')).toBe(firstId('other-writer'))
    const ranges = ['pair-writer', 'pair-alone', 'other-writer', 'single'].map(firstId)
    expect(new Set(ranges).size).toBe(4)
    for (const name of ['other-writer', 'single'])
      expect(inside(name, 'ls /files; touch /files/y && rm /files/y')).toBe('of-image')
  })

  it('show a hostile member nothing else of the others', async () => {
    const hostile = [
      'ln -s / /files/root',
      'ln -s /mine /files/mine',
      'cp /bin/busybox /files/busybox && chmod 4755 /files/busybox',
      'echo secret >/tmp/secret && ln -s /tmp/secret /files/secret',
    ]
    for (const each of hostile) inside('pair-writer', each)
    inside('pair-reader', 'echo private >/mine/p')
    // A link leads each member to its own files.
    expect(inside('pair-writer', 'cat /files/mine/p')).toContain('No such file')
    expect(inside('pair-reader', 'cat /srv/secret')).toContain('No such file')
    inside('pair-writer', 'touch /only-here')
    expect(inside('pair-reader', 'ls /srv/root/only-here')).toContain('No such file')
    expect(inside('pair-reader', '/srv/busybox id -u', '33')).toBe('33')
    expect(inside('pair-writer', 'mknod /files/disk b 8 0')).toContain('not permitted')
    // Processes of the others are not there, though they have the same user.
    expect(inside('pair-writer', 'ls -d /proc/[0-9]* | wc -l')).toMatch(/^[2-9]$/)
  })

  it('stay when the app is redeployed, when the runtime restarts, and when a new version fails', async () => {
    await deploy('pair', { ...writer, env: { ...writer.env, X: '1' } }, reader, alone)
    expect(inside('pair-writer', 'cat /files/x')).toBe('written')
    await services.restart()
    await expect.poll(() => idOf('pair-reader') && idOf('pair-writer')).toBeTruthy()
    expect(inside('pair-reader', 'stat -c "%u:%g" /srv/x')).toBe('33:7')
    const failing = { ...reader, env: { ...reader.env, 'MCM.USER': 'no-such-user' } }
    await expect(deploy('pair', writer, failing, alone)).rejects.toMatchObject({ reason: 'container_failed' })
    expect(inside('pair-writer', 'cat /files/x')).toBe('written')
  })

  it('stay with one member, and are shared again later', async () => {
    await deploy('pair', reader, alone)
    expect(inside('pair-reader', 'cat /srv/x')).toBe('written')
    await deploy('pair', reader, member('third', [files('/files')]), alone)
    expect(inside('pair-third', 'stat -c "%u:%g" /files/x')).toBe('33:7')
    expect(firstId('pair-third')).toBe(firstId('pair-reader'))
  })

  it('are removed with the app, and those of another app stay', async () => {
    const before = await podman.volumes()
    await services.runtime().removeApp({ ...token(), name: 'pair' })
    // Those of the app, of `reader` and of `alone`.
    await expect.poll(async () => (await podman.volumes()).length).toBe(before.length - 3)
    expect(inside('other-reader', 'ls /files')).toBe('of-image')
    await services.runtime().removeApp({ ...token(), name: 'other' })
    await stack.removeContainers()
  })

  it('are left by a first deployment that fails for no other one', async () => {
    const failing = member('reader', [files('/files')], { 'MCM.USER': 'no-such-user' })
    await expect(deploy('broken', writer, failing)).rejects.toMatchObject({ reason: 'container_failed' })
    expect(await podman.volumes()).toEqual([])
  })
})
