/** What only Linux has, and the modules that name it in a program for another system. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../harness/processes.ts'

/** Files of the kernel, abstract sockets, and programs of Linux. */
export const linuxWords =
  /["'`](?:\/proc\b|\/sys\/fs\b|\/dev\/shm\b|\\0selvedge-)|\b(?:nsenter|setpriv|bwrap|iptables|systemctl|journalctl|systemd-notify|nft)\b|SO_PEERCRED/

const names = 'names it in a text or a list, and opens nothing'
const ofPackages = 'for installed packages, which are for Linux; without the program it says so'

/** By path: why it does no harm there. */
export const linuxOnly: Readonly<Record<string, string>> = {
  'apps/cli/src/commands/device/adopt.ts': names,
  'apps/cli/src/commands/device/prepare-image.ts': names,
  'apps/cli/src/commands/service/install.ts': ofPackages,
  'apps/cli/src/commands/service/logs.ts': ofPackages,
  'apps/cli/src/commands/service/podman.ts': ofPackages,
  'apps/cli/src/commands/service/status.ts': ofPackages,
  'apps/cli/src/production/folder.ts': names,
  'apps/cli/src/production/needs.ts': names,
  'apps/cli/src/production/units.ts': 'only where systemd runs',
  'apps/cli/src/production/why-no-answer.ts': names,
  'apps/cli/src/support/logs.ts': ofPackages,
  'apps/cli/src/upgrade/lock.ts': ofPackages,
  'apps/cli/src/upgrade/restart.ts': ofPackages,
  'apps/runtime/src/device/metering/system-probes.ts': 'reads nothing there: no link is metered',
  'apps/runtime/src/services/engines/oci/engine-hints.ts': names,
  'apps/runtime/src/services/engines/oci/forbidden-paths.ts': names,
  'apps/runtime/src/services/engines/oci/given.ts': names,
  'apps/runtime/src/services/engines/oci/host-guard.ts': 'finds no program there, and runs nothing',
  'apps/runtime/src/services/engines/oci/outbound/outbound.ts': names,
  'apps/runtime/src/services/engines/oci/private-mounts.ts': 'reads no mounts there, and reports nothing',
  'apps/runtime/src/services/engines/oci/secret-files.ts':
    'uses a folder only if it is in memory, else refuses',
  'packages/protocol/src/mcm/settings.ts': names,
  'packages/protocol/src/mcm/settings/files.ts': names,
  'packages/service-kit/src/lifecycle/systemd.ts': 'only where systemd started the program',
}

/** The sources below a folder of the project, without tests and comments, by their paths. */
export const sourcesOf = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((each) => each.endsWith('.ts') && !each.endsWith('.test.ts'))
      .map((each) => [
        `${folder}/${each}`,
        readFileSync(join(root, folder, each), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''),
      ]),
  )
