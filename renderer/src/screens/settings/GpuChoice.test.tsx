import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import type { SystemInfo } from '../../data/system';
import { GpuChoice } from './GpuChoice';

afterEach(cleanup);

const machine = (gpus: number, workingOn: number[] | null = null) => {
  const units = Array.from({ length: gpus }, () => ({ description: 'NVIDIA H200', memoryBytes: 150e9 }));
  const cuda = { device: 'cuda', available: gpus > 0, description: '', memoryBytes: 0, units } as const;
  return { device: 'cuda', devices: [{ ...cuda, units: [...units] }], workingOn } satisfies Pick<
    SystemInfo,
    'device' | 'devices' | 'workingOn'
  >;
};

test('one GPU is no choice', () => {
  const { container } = render(<GpuChoice info={machine(1)} chosen={null} onChange={() => undefined} />);
  expect(container.textContent).toBe('');
});

test('several are switched one by one, never all off, and the first alone is the default', () => {
  const change = vi.fn();
  const { rerender } = render(<GpuChoice info={machine(3)} chosen={null} onChange={change} />);
  const gpu = (k: number) => screen.getByRole('switch', { name: `GPU ${k}` });
  expect([0, 1, 2].map((k) => gpu(k).getAttribute('aria-checked'))).toEqual(['true', 'false', 'false']);
  fireEvent.click(gpu(2));
  expect(change).toHaveBeenLastCalledWith([0, 2]);
  fireEvent.click(gpu(0));
  expect(change).toHaveBeenCalledTimes(1);
  rerender(<GpuChoice info={machine(3)} chosen={[0, 2]} onChange={change} />);
  expect(screen.getByText(/Changes when the engine is free/)).toBeTruthy();
  fireEvent.click(gpu(2));
  expect(change).toHaveBeenLastCalledWith(null);
  fireEvent.click(gpu(0));
  expect(change).toHaveBeenLastCalledWith([2]);
  rerender(<GpuChoice info={machine(3, [0, 2])} chosen={[0, 2]} onChange={change} />);
  expect(screen.queryByText(/Changes when the engine is free/)).toBeNull();
});
