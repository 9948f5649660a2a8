/** What is read of the engine's answers (Docker Engine API v1.41). */
import * as z from 'zod'

const labels = z
  .record(z.string(), z.string())
  .nullish()
  .transform((found) => found ?? {})

export const inspected = z.object({
  State: z.object({
    Running: z.boolean(),
    Pid: z.number().optional(),
    ExitCode: z.number(),
    OOMKilled: z.boolean().optional(),
    Error: z.string().optional(),
  }),
  Config: z.object({ Labels: labels }),
  NetworkSettings: z.object({
    Ports: z.record(z.string(), z.array(z.object({ HostPort: z.string() })).nullable()).nullish(),
    Networks: z.record(z.string(), z.object({ IPAddress: z.string().optional() })).nullish(),
  }),
})

export type Inspected = z.infer<typeof inspected>

export const listed = z.array(z.object({ Id: z.string(), Labels: labels, State: z.string() }))

export const images = z.array(z.object({ RepoTags: z.array(z.string()).nullish() }))

export const networks = z.array(z.object({ Id: z.string(), Name: z.string(), Labels: labels }))

/** The addresses of a network. */
export const network = z.object({
  IPAM: z.object({
    Config: z.array(z.object({ Subnet: z.string(), Gateway: z.string().optional() })).nullish(),
  }),
})

export const volumes = z.object({
  Volumes: z.array(z.object({ Name: z.string(), Labels: labels })).nullish(),
})

/** A volume that was made, or was there. */
export const volume = z.object({ Labels: labels })

/** What the engine has made. */
export const created = z.object({ Id: z.string() })

/** A command in a container. */
export const exec = z.object({ Running: z.boolean(), ExitCode: z.number().nullish() })

/** A container with the size of what it wrote to its root file system. */
export const sized = z.object({ SizeRw: z.number().nullish() })

export const diskUsage = z.object({
  Volumes: z
    .array(z.object({ Name: z.string(), UsageData: z.object({ Size: z.number() }).nullish() }))
    .nullish(),
})

export const stats = z.object({ memory_stats: z.object({ usage: z.number().optional() }).optional() })

export const info = z.object({
  ServerVersion: z.string().optional(),
  /** Of Docker without root, it contains `name=rootless`. */
  SecurityOptions: z.array(z.string()).nullish(),
  /** Of Podman alone. */
  BuildahVersion: z.string().optional(),
  Rootless: z.boolean().optional(),
  CgroupVersion: z.string().optional(),
  /** `none`: it has no control groups. */
  CgroupDriver: z.string().optional(),
  MemoryLimit: z.boolean().optional(),
  DockerRootDir: z.string().optional(),
  Driver: z.string().optional(),
  /** Pairs of a name and a value. */
  DriverStatus: z.array(z.array(z.string())).nullish(),
})

/** An answer of which nothing is needed. */
export const anything = z.unknown()
