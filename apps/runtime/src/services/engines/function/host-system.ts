/**
 * What the engine for functions needs of the operating system. The choice is made when the program is built or loaded: a bundle for another
 * system has no code of Linux, and nothing that a person or a function sets changes the choice.
 */
import { openCgroups } from './cgroup.ts'
import { findLinuxSandbox } from './linux-sandbox.ts'
import { findPortableSandbox } from './portable-sandbox.ts'
import type { Sandbox } from './sandbox.ts'

interface HostSystem {
  /**
   * Finds the layers of this machine.
   *
   * @param groupName name of the control group of this runtime
   * @throws RpcError `engine_unavailable`
   */
  findSandbox(deno: string, program: string, groupName: string): Promise<Sandbox>
  /** Ends the processes that an earlier run left, if the system groups them. */
  endEarlier(groupName: string): Promise<void>
}

export const hostSystem: HostSystem =
  process.platform === 'linux'
    ? {
        findSandbox: findLinuxSandbox,
        endEarlier: async (groupName) => openCgroups(groupName)?.removeAll(),
      }
    : {
        findSandbox: findPortableSandbox,
        // They exited with that run: their pipe closed.
        endEarlier: async () => undefined,
      }
