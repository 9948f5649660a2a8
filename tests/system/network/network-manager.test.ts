/**
 * What NetworkManager knows of the link, read from a bus of the test with systemd's client. The manager is python-dbusmock's, as in the
 * tests of desktop programs; the real one would manage the interfaces of this machine.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

/** Prints what is known without the manager, with one that has no such property, and with the property at 1 and at 4. */
const script = (read: string) => `
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/NetworkManager /run/bus
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/bus/socket
dbus-daemon --config-file=/usr/share/dbus-1/session.conf --address=$DBUS_SYSTEM_BUS_ADDRESS --fork --print-pid > /run/pid
trap 'kill $(cat /run/pid)' EXIT
${read}
/usr/bin/python3 - <<'END'
import dbus, subprocess, sys
manager, path = 'org.freedesktop.NetworkManager', '/org/freedesktop/NetworkManager'
mock = subprocess.Popen([sys.executable, '-m', 'dbusmock', '--system', '--template', 'networkmanager'], stdout=subprocess.DEVNULL)
try:
    bus = dbus.SystemBus()
    while not bus.name_has_owner(manager): pass
    read = lambda: subprocess.run(['/bin/sh', '-c', ${JSON.stringify(read)}], check=True)
    read()
    mocked = dbus.Interface(bus.get_object(manager, path), 'org.freedesktop.DBus.Mock')
    mocked.AddProperty(manager, 'Metered', dbus.UInt32(1))
    read()
    mocked.UpdateProperties(manager, {'Metered': dbus.UInt32(4)})
    read()
finally:
    mock.kill()
END
`

it(
  'the link is as NetworkManager has it, and as its interface is where that does not know',
  needs('dbusmock', 'systemd-analyze', 'mounts', 'root'),
  async () => {
    const reader = join(folder.path, 'read.ts')
    const of = (name: string) => JSON.stringify(join(root, `apps/runtime/src/device/metering/${name}.ts`))
    writeFileSync(
      reader,
      `import { readLinkState } from ${of('metered-link')}
import { systemProbes } from ${of('system-probes')}
console.log((await readLinkState('auto', systemProbes)).reason)`,
    )
    const read = `cd ${root} && ${process.execPath} --conditions=source ${reader}`
    const { stdout } = await promisify(execFile)('unshare', ['--mount', 'bash', '-c', script(read)])
    expect(stdout.trim().split('\n')).toEqual([
      expect.not.stringContaining('NetworkManager'),
      expect.not.stringContaining('NetworkManager'),
      'NetworkManager: the connection is metered',
      'NetworkManager: the connection is probably not metered',
    ])
  },
)
