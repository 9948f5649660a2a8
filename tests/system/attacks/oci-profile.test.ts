/** Hostile programs that are root in their container, with the capabilities that they get by default, on a real Podman. */
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

interface Inspected {
  readonly Name: string
  readonly Config: { readonly Labels: Record<string, string> }
  readonly GraphDriver: { readonly Data: { readonly UpperDir: string } }
}

const rangeSize = 65_536

describe('a container of root', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
  })
  afterEach(() => stack.removeContainers())
  afterAll(() => stack?.stop())

  async function deploy(
    name: string,
    script: string,
    {
      env = {},
      config = {},
      files = [],
    }: { env?: Record<string, string>; config?: object; files?: readonly TarEntry[] } = {},
  ) {
    const { id: image } = await services.deployImage(
      cgiImage({ name, script: `PATH=/bin; ${script}`, config, files: [...files, ...tools] }),
    )
    const spec = { name, image, env }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    return { ...container, run: async () => (await services.call(`${container.basePath}/cgi-bin/run`)).text }
  }
  const tools: TarEntry[] = [
    ...[
      'cat',
      'chmod',
      'chown',
      'chroot',
      'cp',
      'dd',
      'dmesg',
      'echo',
      'grep',
      'head',
      'hostname',
      'id',
      'insmod',
      'ls',
      'mkdir',
    ],
    ...[
      'mknod',
      'mount',
      'nsenter',
      'setpriv',
      'sleep',
      'stat',
      'su',
      'swapon',
      'sysctl',
      'touch',
      'umount',
      'unshare',
      'date',
      'ip',
      'wc',
    ],
  ].map((name) => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }))
  const lines = (...args: readonly string[]) =>
    podman
      .run(...args)
      .trim()
      .split('\n')
      .filter(Boolean)
  const inspectAll = () =>
    lines('ps', '--all', '--format', '{{.Names}}').map(
      (name) => JSON.parse(podman.run('inspect', name))[0] as Inspected,
    )
  const firstId = ({ Config }: Inspected) => Number(Config.Labels['dev.selvedge.ids']?.split(':')[0])
  const mountpoint = (volume: string) =>
    podman.run('volume', 'inspect', '--format', '{{.Mountpoint}}', volume).trim()
  const historyOf = async (id: string) =>
    (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history

  it('changes nothing of the device, whatever its capabilities', async () => {
    const attempts = [
      'mount -t tmpfs x /mnt',
      'mount -t proc x /mnt',
      'mount -t sysfs x /mnt',
      'mount -o remount,rw /proc/sys',
      'mount -o remount,rw /sys',
      'mount --bind /proc/1/root /mnt',
      'umount /etc/hosts',
      'umount /proc/kcore',
      'mknod /disk b 254 0',
      'mknod /memory c 1 1',
      'chroot /mnt /bin/busybox true',
      'insmod /x.ko',
      'swapon /data',
      'hostname stolen',
      'date -s 2001-01-01 && date | grep 2001',
      'dmesg',
      'unshare -m true',
      'unshare -n true',
      'nsenter -t 1 -m -u true',
      'sysctl -w kernel.core_pattern=x',
      'sysctl -w kernel.panic=1',
      'sysctl -w vm.overcommit_memory=1',
      'echo x > /proc/sys/kernel/core_pattern',
      'echo b > /proc/sysrq-trigger',
      'echo 1 > /proc/irq/default_smp_affinity',
      'echo -1000 > /proc/self/oom_score_adj',
      'head -c 1 /proc/kcore',
      'head -c 1 /proc/kmsg',
      'head -c 1 /proc/kallsyms | grep -v 0',
      'echo mem > /sys/power/state',
      'echo x > /sys/kernel/uevent_helper',
      'mkdir /sys/fs/cgroup/memory/x',
      'echo x > /sys/fs/cgroup/memory/release_agent',
      'ls /sys/kernel/security/*',
      'ls /sys/kernel/debug/*',
      'ip link add x type dummy',
      'touch /run/selvedge/x',
      'chown 1000 /run/selvedge/host',
      'chmod 777 /run/selvedge',
      'echo x >> /etc/hosts',
      'echo x >> /etc/hostname',
      'echo x >> /etc/resolv.conf',
      'echo x >> /run/.containerenv',
    ]
    const script = [
      'mkdir -p /mnt',
      ...attempts.map((each, at) => `(${each}) >/dev/null 2>&1 && echo "done ${at}"`),
      'echo end',
    ]
    const { run } = await deploy('hostile', script.join('\n'))
    const text = await run()
    const succeeded = [...text.matchAll(/done (\d+)/g)].map(([, at]) => attempts[Number(at)])
    expect(succeeded).toEqual([])
    expect(text).toContain('end')
  })

  it('writes to nothing of the device but its own root, folders in memory, and its volumes', async () => {
    const { run } = await deploy('mounts', 'cat /proc/self/mounts', { env: { 'MCM.VOLUMES': 'data:/data' } })
    const writable = (await run())
      .split('\n')
      .map((line) => line.split(' '))
      .filter(
        ([, , type = '', options = '']) =>
          /^rw/.test(options) && /^(ext|xfs|btrfs|overlay|zfs|f2fs|tmpfs)/.test(type),
      )
      .map(([, path]) => path)
    expect(writable.toSorted()).toEqual(
      ['/', '/data', '/dev', '/dev/shm', '/sys/fs/cgroup'].filter((each) => writable.includes(each)),
    )
    expect(writable).toContain('/data')
  })

  it('shares no ID with the device or with another container, and reaches no volume of another one', async () => {
    const env = { 'MCM.VOLUMES': 'data:/data' }
    const script =
      'id -u; cat /proc/self/uid_map; echo secret > /data/secret; chmod 600 /data/secret; chown 7:7 /data/secret'
    const one = await deploy('one', script, { env })
    const other = await deploy('other', script, { env })
    expect(await one.run()).toMatch(/^0\n\s+0\s+\d+\s+65536\n$/)
    await other.run()
    const [first, second] = inspectAll().map(firstId) as [number, number]
    expect(Math.abs(first - second)).toBeGreaterThanOrEqual(rangeSize)
    expect(Math.min(first, second)).toBeGreaterThan(rangeSize)
    const owners = lines('volume', 'ls', '--quiet').map(
      (each) => statSync(join(mountpoint(each), 'secret')).uid,
    )
    expect(owners.toSorted()).toEqual([first + 7, second + 7].toSorted())
  })

  it('has the same IDs after a redeploy, so that its volumes keep the owners of their files', async () => {
    const env = { 'MCM.VOLUMES': 'data:/data' }
    const script = 'touch /data/a /data/b; chown 7:8 /data/b; stat -c "%n %u %g" /data/*'
    const { run } = await deploy('kept', script, { env })
    const before = await run()
    expect(before).toBe('/data/a 0 0\n/data/b 7 8\n')
    const [id] = inspectAll().map(firstId)
    const again = await deploy('kept', `${script}; echo two`, { env })
    expect(await again.run()).toBe(`${before}two\n`)
    await services.restart('SIGKILL')
    expect(await again.run()).toBe(`${before}two\n`)
    expect(new Set(inspectAll().map(firstId))).toEqual(new Set([id]))
  })

  it.each(['99', 'guest', '99:99'])(
    'has no capabilities if its program starts as %s: it does not read what other users of its image may',
    async (user) => {
      const { run, isolation } = await deploy(
        'ordinary',
        'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status; cat /secret 2>/dev/null; chown 0 /tmp 2>/dev/null || echo kept',
        {
          env: { 'MCM.USER': user },
          files: [
            { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nguest:x:99:99::/:/bin/sh\n' },
            { path: 'secret', content: 'of root', mode: 0o400 },
          ],
        },
      )
      const text = await run()
      expect(text.match(/^Cap\w+:\s+0{16}$/gm)).toHaveLength(5)
      expect(text).not.toContain('of root')
      expect(text).toContain('kept')
      expect(isolation).toContain('no capabilities')
    },
  )

  it('gains nothing by a set-user-ID file, in the container or on the device', async () => {
    const { run } = await deploy(
      'setuid',
      `mkdir /x; cp /bin/busybox /x; chmod 6755 /x/busybox; su -s /bin/sh guest -c '/x/busybox id -u; grep NoNewPrivs /proc/self/status'`,
      { files: [{ path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nguest:x:99:99::/:/bin/sh\n' }] },
    )
    const text = await run()
    expect(text).toMatch(/^99\nNoNewPrivs:\s+1\n$/)
    const [container] = inspectAll() as [Inspected]
    const { mode, uid } = lstatSync(join(container.GraphDriver.Data.UpperDir, 'x/busybox'))
    expect(mode & 0o6000).toBe(0o6000)
    expect(uid).toBe(firstId(container))
  })

  it.each<[string, TarEntry]>([
    ['a device node', { path: 'disk', type: 'BlockDevice', mode: 0o666 }],
    ['a link out of its root', { path: 'two', type: 'SymbolicLink', linkpath: '../../../../etc' }],
  ])('is not made of an image with %s', async (_, entry) => {
    await expect(deploy('nodes', 'echo x', { files: [entry] })).rejects.toMatchObject({
      reason: 'invalid_image',
    })
    expect(inspectAll()).toEqual([])
  })

  it('stops at its number of processes with a fork bomb, and others are served', async () => {
    const quiet = await deploy('quiet', 'echo well')
    const bomb = await deploy(
      'bomb',
      'echo begun; exec >/dev/null 2>&1; for each in 1 2 3; do (while :; do sleep 300 & done) & done; while :; do sleep 300 & done',
      { env: { 'MCM.PIDS': '48' } },
    )
    void bomb.run().catch(() => undefined)
    const ids = new Set(inspectAll().map(firstId))
    const owned = () =>
      readdirSync('/proc')
        .filter((each) => /^\d+$/.test(each))
        .filter((pid) => {
          const uid = Number(/^Uid:\s+(\d+)/m.exec(statusOf(pid))?.[1] ?? 0)
          return [...ids].some((id) => uid >= id && uid < id + rangeSize)
        }).length
    await expect.poll(owned).toBeGreaterThan(30)
    expect(await quiet.run()).toBe('well\n')
    expect(owned()).toBeLessThan(48 + 10)
  })

  it.each([
    ['root file system', '/x', {}],
    ['volume that its image declares', '/data/x', { Volumes: { '/data': {} } }],
  ])('that fills its %s is stopped, with the reason in its history', async (_, file, config) => {
    const { run, id } = await deploy(
      'full',
      `dd if=/dev/zero of=${file} bs=1M count=80 2>/dev/null; sleep 60`,
      {
        env: { 'MCM.ROOT_MB': '32' },
        config,
      },
    )
    void run().catch(() => undefined)
    await expect
      .poll(async () => (await historyOf(id)).map(({ detail }) => detail).join('\n'))
      .toMatch(
        /it has \d+ MiB in its root file system and the volumes of its image; the limit is 32 MiB \(MCM.ROOT_MB\)/,
      )
    const restarts = async () =>
      (await services.runtime().getContainers({ edgeAccessToken: services.token }))[0]?.restarts
    await expect.poll(restarts).toBeGreaterThan(0)
  })

  it('copies into a new volume what its image has, and nothing of the device through links', async () => {
    const marker = readFileSync('/etc/hostname', 'utf8').trim()
    const { run } = await deploy(
      'links',
      'ls -la /one /two /three; cat /three/up /three/absolute 2>&1; echo end',
      {
        env: { 'MCM.VOLUMES': 'a:/one, b:/two, c:/three' },
        files: [
          { path: 'etc/passwd', content: 'of the image\n' },
          { path: 'one', type: 'SymbolicLink', linkpath: '/etc' },
          { path: 'two', type: 'SymbolicLink', linkpath: 'one' },
          { path: 'three', type: 'Directory' },
          { path: 'three/up', type: 'SymbolicLink', linkpath: '/etc/shadow' },
          { path: 'three/absolute', type: 'SymbolicLink', linkpath: '/etc/passwd' },
        ],
      },
    )
    const text = await run()
    // A link in a volume leads to the files of the container, also for its root.
    expect(text).toContain('of the image')
    expect(text).toContain('end')
    expect(text).not.toContain('root:')
    expect(lines('volume', 'ls', '--quiet')).toHaveLength(3)
    for (const volume of lines('volume', 'ls', '--quiet')) {
      const files = readdirSync(mountpoint(volume))
      expect(files).not.toContain('shadow')
      expect(files).not.toContain('debian_version')
    }
    expect(readFileSync('/etc/hostname', 'utf8').trim()).toBe(marker)
  })
})

const statusOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
