/**
 * Hostile programs that are root in their container, with the capabilities that they get by default, on a real Podman: with user IDs of
 * their own, and on a device without user IDs for containers, where they are root of the device with few capabilities.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { type CgiImage, shellImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

interface Inspected {
  readonly Name: string
  readonly State: { readonly Pid: number }
  readonly Config: { readonly Labels: Record<string, string> }
  readonly GraphDriver: { readonly Data: { readonly UpperDir: string } }
}

const rangeSize = 65_536

interface Deployed {
  readonly id: string
  run(script: string): Promise<string>
}

for (const hasIds of [true, false])
  describe(
    hasIds ? 'a container of root' : 'a container of root that is root of the device',
    needs(...podmanNeeds, 'busybox', hasIds ? 'user IDs' : 'mounts'),
    () => attack(hasIds),
  )

/** @param hasIds whether the device has user IDs for containers */
function attack(hasIds: boolean): void {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  /** A container with a volume, and its name in the engine. */
  let one: Deployed
  let nameOfOne: string
  beforeAll(async () => {
    stack = await startPodmanServices(
      [],
      hasIds ? {} : { replaced: { '/etc/subuid': '/dev/null', '/etc/subgid': '/dev/null' } },
    )
    ;({ podman, services } = stack)
    usual = await install({ name: 'usual', files })
    one = await deploy('one', usual, { 'MCM.VOLUMES': 'data:/data' })
    nameOfOne = (await podman.containers())[0]!
  })
  afterAll(async () => {
    await stack?.removeContainers()
    await stack?.stop()
  })

  /** Image of most containers. */
  let usual: string
  const install = async (image: Omit<CgiImage, 'script'>) =>
    (await services.deployImage(shellImage(image))).id

  async function deploy(name: string, image: string, env: Record<string, string> = {}) {
    const spec = { name, image, env }
    const { id, basePath, isolation } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec })
    return {
      id,
      isolation,
      /** Runs a shell script in it. @returns what that prints */
      run: async (script: string) =>
        (
          await services.call(`${basePath}/cgi-bin/run`, {
            method: 'POST',
            body: `PATH=/bin; ${script}`,
          })
        ).text,
      remove: () => services.runtime().removeContainer({ edgeAccessToken: services.token, id }),
    }
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
      'rm',
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
  const files: TarEntry[] = [
    ...tools,
    { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nguest:x:99:99::/:/bin/sh\n' },
    { path: 'secret', content: 'of root', mode: 0o400 },
  ]
  const inspectAll = async () =>
    Promise.all((await podman.containers(true)).map((name) => podman.inspect<Inspected>(name)))
  const firstId = ({ Config }: Inspected) => Number(Config.Labels['dev.selvedge.ids']?.split(':')[0])
  const mountpoints = async () =>
    ((await podman.get('/volumes')) as { Volumes: { Mountpoint: string }[] }).Volumes.map(
      ({ Mountpoint }) => Mountpoint,
    )
  /** Whether other users of the device reach nothing at a path in the folder of the engine. */
  const isClosed = (path: string) => {
    const parts = dirname(relative(podman.folder, path)).split('/')
    return parts.some(
      (_, at) => (statSync(join(podman.folder, ...parts.slice(0, at + 1))).mode & 0o001) === 0,
    )
  }
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
      ...(hasIds ? [] : ['chroot / /bin/busybox true']),
      `chroot /proc/1/root /bin/busybox test -d ${podman.folder}`,
      `mkdir -p /inner/bin; cp /bin/busybox /inner/bin; chroot /inner /bin/busybox chroot ../../../../.. /bin/busybox test -d ${podman.folder}`,
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
    const text = await one.run(script.join('\n'))
    const succeeded = [...text.matchAll(/done (\d+)/g)].map(([, at]) => attempts[Number(at)])
    expect(succeeded).toEqual([])
    expect(text).toContain('end')
  })

  it('writes to nothing of the device but its own root, folders in memory, and its volumes', async () => {
    const writable = (await one.run('cat /proc/self/mounts'))
      .split('\n')
      .map((line) => line.split(' '))
      .filter(
        ([, , type = '', options = '']) =>
          /^rw/.test(options) && /^(ext|xfs|btrfs|overlay|zfs|f2fs|tmpfs)/.test(type),
      )
      .map(([, path]) => path)
    // What of the kernel is hidden may be the null device.
    const hidden = (
      await one.run(`for each in ${writable.join(' ')}; do stat -c '%F %t %T %n' $each; done`)
    ).matchAll(/^character special file 1 3 (\S+)$/gm)
    const nothing = [...hidden].map(([, path]) => path)
    expect(writable.filter((each) => !nothing.includes(each)).toSorted()).toEqual(
      ['/', '/data', '/dev', '/dev/shm', '/sys/fs/cgroup'].filter((each) => writable.includes(each)),
    )
    expect(writable).toContain('/data')
  })

  if (hasIds)
    it('shares no ID with the device or with another container, and reaches no volume of another one; it has the same IDs after a redeploy, so that its volumes keep the owners of their files', async () => {
      const script =
        'id -u; cat /proc/self/uid_map; echo secret > /data/secret; chmod 600 /data/secret; chown 7:7 /data/secret'
      const env = { 'MCM.VOLUMES': 'data:/data' }
      const other = await deploy('other', usual, env)
      expect(await one.run(script)).toMatch(/^0\n\s+0\s+\d+\s+65536\n$/)
      await other.run(script)
      const first = firstId(await podman.inspect<Inspected>(nameOfOne))
      const idsOfOther = async () =>
        new Set((await inspectAll()).filter(({ Name }) => Name !== nameOfOne).map(firstId))
      const [second = 0] = await idsOfOther()
      expect(Math.abs(first - second)).toBeGreaterThanOrEqual(rangeSize)
      expect(Math.min(first, second)).toBeGreaterThan(rangeSize)
      const owners = (await mountpoints()).map((each) => statSync(join(each, 'secret')).uid)
      expect(owners.toSorted()).toEqual([first + 7, second + 7].toSorted())

      const again = 'touch /data/a /data/b; chown 7:8 /data/b; stat -c "%n %u %g" /data/a /data/b'
      const before = await other.run(again)
      expect(before).toBe('/data/a 0 0\n/data/b 7 8\n')
      const redeployed = await deploy('other', usual, { ...env, REVISION: '2' })
      expect(await redeployed.run(`${again}; echo $REVISION`)).toBe(`${before}2\n`)
      await services.restart('SIGKILL')
      expect(await redeployed.run(`${again}; echo $REVISION`)).toBe(`${before}2\n`)
      expect(await idsOfOther()).toEqual(new Set([second]))
      await redeployed.remove()
    })
  else
    it('is root of the device, with few capabilities: its files are those of users of the device, and it reaches no volume of another container', async () => {
      const env = { 'MCM.VOLUMES': 'data:/data' }
      const other = await deploy('other', usual, env)
      expect(other.isolation).toContain('few capabilities')
      expect(other.isolation).not.toContain('user namespace')
      const script =
        'id -u; cat /proc/self/uid_map; echo hidden > /data/secret; chmod 600 /data/secret; chown 7:7 /data/secret'
      for (const { run } of [one, other]) expect(await run(script)).toMatch(/^0\n\s+0\s+0\s+4294967295\n$/)
      const volumes = await mountpoints()
      expect(volumes.map((each) => statSync(join(each, 'secret')).uid)).toEqual([7, 7])
      const attempts = volumes.map((each) => `cat ${each}/secret /proc/1/root${each}/secret 2>/dev/null`)
      // Without DAC_OVERRIDE, root reads only what its own user may.
      expect(await other.run(['cat /data/secret 2>&1', ...attempts].join('; '))).toMatch(
        /^cat: .*Permission denied\n$/,
      )
      await services.restart('SIGKILL')
      expect(await other.run('stat -c "%u %g" /data/secret')).toBe('7 7\n')
      await other.remove()
    })

  it.each(['99', 'guest', '99:99'])(
    'has no capabilities if its program starts as %s: it does not read what other users of its image may',
    async (user) => {
      const { run, isolation, remove } = await deploy('ordinary', usual, { 'MCM.USER': user })
      const text = await run(
        'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status; cat /secret 2>/dev/null; chown 0 /tmp 2>/dev/null || echo kept',
      )
      expect(text.match(/^Cap\w+:\s+0{16}$/gm)).toHaveLength(5)
      expect(text).not.toContain('of root')
      expect(text).toContain('kept')
      expect(isolation).toContain('no capabilities')
      await remove()
    },
  )

  it('gains nothing by a set-user-ID file, in the container or on the device', async () => {
    const text = await one.run(
      `mkdir /tmp/x; cp /bin/busybox /tmp/x; chmod 6755 /tmp/x/busybox; su -s /bin/sh guest -c '/tmp/x/busybox id -u; grep NoNewPrivs /proc/self/status'`,
    )
    expect(text).toMatch(/^99\nNoNewPrivs:\s+1\n$/)
    await one.run('cp /bin/busybox /data/set-id; chmod 6755 /data/set-id')
    const container = await podman.inspect<Inspected>(nameOfOne)
    const [volume = ''] = await mountpoints()
    for (const path of [join(container.GraphDriver.Data.UpperDir, 'tmp/x/busybox'), join(volume, 'set-id')]) {
      const { mode, uid } = lstatSync(path)
      expect(mode & 0o6000).toBe(0o6000)
      expect(uid).toBe(hasIds ? firstId(container) : 0)
      // The folders of the engine: else other users of the device could run it as its owner.
      if (!hasIds) expect(isClosed(path)).toBe(true)
    }
    await one.run('rm /data/set-id')
  })

  it.each<[string, TarEntry]>([
    ['a device node', { path: 'disk', type: 'BlockDevice', mode: 0o666 }],
    ['a link out of its root', { path: 'two', type: 'SymbolicLink', linkpath: '../../../../etc' }],
  ])('is not made of an image with %s', async (_, entry) => {
    await expect(install({ name: 'nodes', files: [entry] })).rejects.toMatchObject({
      reason: 'invalid_image',
    })
    expect(await podman.containers(true)).toEqual([nameOfOne])
  })

  it('stops at its number of processes with a fork bomb, and others are served', async () => {
    const bomb = await deploy('bomb', usual, { 'MCM.PIDS': '48' })
    void bomb
      .run(
        'echo begun; exec >/dev/null 2>&1; for each in 1 2 3; do (while :; do sleep 300 & done) & done; while :; do sleep 300 & done',
      )
      .catch(() => undefined)
    const added = (await inspectAll()).find(({ Name }) => Name !== nameOfOne)!
    const space = spaceOf(added.State.Pid)
    expect(space).toMatch(/^pid:/)
    const owned = () =>
      readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && spaceOf(pid) === space).length
    await expect.poll(owned).toBeGreaterThan(30)
    expect(await one.run('echo well')).toBe('well\n')
    expect(owned()).toBeLessThan(48 + 10)
    await bomb.remove()
  })

  it.each([
    ['root file system', '/tmp/full', {}],
    ['volume that its image declares', '/data/x', { Volumes: { '/data': {} } }],
  ])('that fills its %s is stopped, with the reason in its history', async (_, file, config) => {
    const image = await install({ name: 'full', files, config })
    const { run, id, remove } = await deploy('full', image, { 'MCM.ROOT_MB': '32' })
    void run(`dd if=/dev/zero of=${file} bs=1M count=80 2>/dev/null; sleep 60`).catch(() => undefined)
    await expect
      .poll(async () => (await historyOf(id)).map(({ detail }) => detail).join('\n'))
      .toMatch(
        /it has \d+ MiB in its root file system and the volumes of its image; the limit is 32 MiB \(MCM.ROOT_MB\)/,
      )
    const restarts = async () =>
      (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
        (each) => each.id === id,
      )?.restarts
    await expect.poll(restarts).toBeGreaterThan(0)
    await remove()
  })

  it('copies into a new volume what its image has, and nothing of the device through links', async () => {
    const marker = readFileSync('/etc/hostname', 'utf8').trim()
    const before = await mountpoints()
    const image = await install({
      name: 'links',
      files: [
        ...tools,
        { path: 'etc/passwd', content: 'of the image\n' },
        { path: 'one', type: 'SymbolicLink', linkpath: '/etc' },
        { path: 'two', type: 'SymbolicLink', linkpath: 'one' },
        { path: 'three', type: 'Directory' },
        { path: 'three/up', type: 'SymbolicLink', linkpath: '/etc/shadow' },
        { path: 'three/absolute', type: 'SymbolicLink', linkpath: '/etc/passwd' },
      ],
    })
    const { run } = await deploy('links', image, { 'MCM.VOLUMES': 'a:/one, b:/two, c:/three' })
    const text = await run('ls -la /one /two /three; cat /three/up /three/absolute 2>&1; echo end')
    // A link in a volume leads to the files of the container, also for its root.
    expect(text).toContain('of the image')
    expect(text).toContain('end')
    expect(text).not.toContain('root:')
    const made = (await mountpoints()).filter((each) => !before.includes(each))
    expect(made).toHaveLength(3)
    for (const each of made) {
      const found = readdirSync(each)
      expect(found).not.toContain('shadow')
      expect(found).not.toContain('debian_version')
    }
    expect(readFileSync('/etc/hostname', 'utf8').trim()).toBe(marker)
  })
}

/** The namespace of process IDs that a process is in; empty if it has exited. */
const spaceOf = (pid: string | number): string => {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return ''
  }
}
