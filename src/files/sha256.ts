/** Hashes where the platform has none: an insecure page has no `crypto.subtle`. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** SHA-256 of a text in UTF-8, in hexadecimal. */
export const sha256Hex = (text: string): string => sha256OfBytes(utf8ToBytes(text))

/** SHA-256 of bytes, in hexadecimal. */
export const sha256OfBytes = (bytes: Uint8Array): string => bytesToHex(sha256(bytes))
