/**
 * A virtual machine with Debian, its kernel and its systemd: control groups of version 2 and the units as on a device, whatever the
 * machine of the tests is. It is emulated, so that it needs neither KVM nor root rights on the disk of the host, and has no network.
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const packages = ['systemd', 'systemd-sysv', 'dbus', 'libstdc++6', 'bubblewrap', 'curl', 'procps', 'passwd']
const modules = [
  'virtio',
  'virtio_ring',
  'virtio_pci_modern_dev',
  'virtio_pci_legacy_dev',
  'virtio_pci',
  'virtio_blk',
]

/** Loads the driver of the disk, and continues with the system on it. */
const init = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs d /dev
for turn in 1 2 3; do for each in /modules/*.ko; do /bin/busybox insmod $each 2>/dev/null; done; done
for turn in 1 2 3 4 5 6 7 8 9; do [ -b /dev/vda ] && break; /bin/busybox sleep 1; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /sbin/init
`

/** Runs a program once the system is up, on the serial line, then turns the machine off. */
const unit = `[Unit]
After=multi-user.target
[Service]
Type=oneshot
TimeoutStartSec=infinity
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
ExecStart=-/packages/check.sh
ExecStartPost=/bin/systemctl poweroff --force
[Install]
WantedBy=multi-user.target
`

export interface Machine {
  /** Boots it and runs `/packages/check.sh` in it. @param onLine called with each line that it prints */
  run(onLine: (line: string) => void): Promise<void>
}

/**
 * @param folder an empty folder
 * @param files what is in `/packages` of the machine, by its path
 */
export function makeMachine(
  folder: string,
  files: Readonly<Record<string, string>>,
  { memoryMb, cpus }: { readonly memoryMb: number; readonly cpus: number },
): Machine {
  const at = (...path: string[]) => join(folder, ...path)
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1e8 })
  const system = at('system')
  run('mmdebstrap', '--variant=minbase', `--include=${packages.join(',')}`, 'bookworm', at('system.tar'))
  mkdirSync(system)
  run('tar', 'xf', at('system.tar'), '-C', system, '--exclude=./dev/*')
  for (const [path, from] of Object.entries(files)) {
    mkdirSync(join(system, 'packages', path, '..'), { recursive: true })
    cpSync(from, join(system, 'packages', path))
  }
  writeFileSync(join(system, 'etc/systemd/system/check.service'), unit)
  run(
    'ln',
    '-s',
    '../check.service',
    join(system, 'etc/systemd/system/multi-user.target.wants/check.service'),
  )
  run('mke2fs', '-q', '-t', 'ext4', '-d', system, at('disk'), '8G')
  makeKernel(folder, run)
  return {
    run: (onLine) =>
      new Promise((resolve, reject) => {
        const machine = spawn(
          'qemu-system-x86_64',
          [
            ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-m', String(memoryMb), '-smp', String(cpus)],
            ...[
              '-nodefaults',
              '-no-user-config',
              '-display',
              'none',
              '-net',
              'none',
              '-serial',
              'stdio',
              '-no-reboot',
            ],
            ...['-kernel', globSync(at('kernel/boot/vmlinuz-*'))[0]!, '-initrd', at('initrd')],
            ...['-append', 'console=ttyS0 quiet loglevel=1 systemd.show_status=0 panic=-1'],
            ...['-drive', `file=${at('disk')},format=raw,if=virtio`],
          ],
          { stdio: ['ignore', 'pipe', 'inherit'] },
        )
        let rest = ''
        machine.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split(/\r?\n/)
          rest = lines.pop()!
          for (const line of lines) onLine(line)
        })
        machine.on('error', reject)
        machine.on('exit', () => resolve())
      }),
  }
}

/** The kernel of Debian for clouds, and a first file system with what it needs to find the disk. */
function makeKernel(folder: string, run: (program: string, ...args: string[]) => Buffer): void {
  const name = execFileSync('apt-cache', ['depends', 'linux-image-cloud-amd64'], { encoding: 'utf8' }).match(
    /Depends: (linux-image-\S+)/,
  )![1]!
  run('apt-get', 'download', '-q', name)
  run('dpkg-deb', '-x', globSync(join(folder, `${name}_*.deb`))[0]!, join(folder, 'kernel'))
  const first = join(folder, 'first')
  for (const each of ['bin', 'modules', 'root', 'dev']) mkdirSync(join(first, each), { recursive: true })
  cpSync('/bin/busybox', join(first, 'bin/busybox'))
  for (const each of modules)
    for (const path of globSync(join(folder, `kernel/lib/modules/*/kernel/**/${each}.ko`)))
      cpSync(path, join(first, 'modules', `${each}.ko`))
  writeFileSync(join(first, 'init'), init, { mode: 0o755 })
  run('sh', '-c', 'cd first && find . | cpio -o -H newc --quiet | gzip -1 > ../initrd')
}
