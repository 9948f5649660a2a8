/** The settings of containers as members of a JSON schema, for readers of `rpc.discover`. It validates nothing: `readSettings` does. */
import { containerSettings } from '../settings.ts'
import { defaultText, type Setting } from './form.ts'

interface SettingSchema {
  readonly type: 'string'
  readonly description: string
  readonly default?: string
  readonly enum?: readonly string[]
}

const schemaOf = (each: Setting<unknown>): SettingSchema => {
  const fallback = defaultText(each)
  return {
    type: 'string',
    description: `${each.description} Expected: ${each.expected}.`,
    ...(fallback !== undefined && { default: fallback }),
    ...(each.values && { enum: each.values }),
  }
}

/** One schema for each setting, by its name. */
export const settingSchemas = (): Readonly<Record<string, SettingSchema>> =>
  Object.fromEntries(Object.entries(containerSettings).map(([name, each]) => [name, schemaOf(each)]))
