/** Passwords that were found in breaches. Loaded when a person sets a password, since the list is long. */
import { dictionary } from '@zxcvbn-ts/language-common'

const common = new Set(dictionary['passwords-common'].map(String))

export const wasBreached = (password: string): boolean => common.has(password)
