import { readFileSync, writeFileSync } from 'node:fs';

export interface Tensor {
  shape: number[];
  /** Floats of any width as numbers; integers too. */
  data: Float32Array;
}

const bf16 = (bytes: Uint8Array): Float32Array => {
  const words = new Uint16Array(bytes.slice().buffer);
  const out = new Uint32Array(words.length);
  words.forEach((w, i) => (out[i] = w << 16));
  return new Float32Array(out.buffer);
};

/** Tensors of a fixture's file by name: F32, BF16 and I64. */
export function readTensors(file: string): Record<string, Tensor> {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  delete header.__metadata__;
  return Object.fromEntries(
    Object.entries(header).map(([name, { dtype, shape, data_offsets }]) => {
      const raw = new Uint8Array(bytes.subarray(8 + length + data_offsets[0], 8 + length + data_offsets[1]));
      if (dtype === 'F32') return [name, { shape, data: new Float32Array(raw.buffer) }];
      if (dtype === 'BF16') return [name, { shape, data: bf16(raw) }];
      if (dtype === 'I64')
        return [name, { shape, data: Float32Array.from(new BigInt64Array(raw.buffer), Number) }];
      throw new Error(`${file}: ${name} is ${dtype}, which the runner does not read`);
    }),
  );
}

/** Renames tensors of a safetensors file: its header is written anew, its data stay as they are. */
export function renameTensors(file: string, rename: (name: string) => string): void {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<string, unknown>;
  const renamed = Object.fromEntries(Object.entries(header).map(([name, value]) => [rename(name), value]));
  const text = Buffer.from(JSON.stringify(renamed));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(file, Buffer.concat([size, text, bytes.subarray(8 + length)]));
}
