import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { NumberInput } from './Input';

afterEach(cleanup);

function Held({ onChange, start }: { onChange: (value: number | null) => void; start: number }) {
  const [value, setValue] = useState<number | null>(start);
  return (
    <NumberInput
      aria-label="Rate"
      value={value}
      step={0.1}
      min={0}
      max={1}
      onChange={(next) => {
        setValue(next);
        onChange(next);
      }}
    />
  );
}

test('a half-typed number is kept as text and reported once it is one', () => {
  const change = vi.fn();
  render(<Held start={0.5} onChange={change} />);
  const input = screen.getByLabelText<HTMLInputElement>('Rate');
  fireEvent.change(input, { target: { value: '1e-' } });
  expect(input.value).toBe('1e-');
  expect(change).not.toHaveBeenCalled();
  fireEvent.change(input, { target: { value: '1e-5' } });
  expect(change).toHaveBeenLastCalledWith(0.00001);
  expect(input.value).toBe('1e-5');
});

test('what is no number goes back to the last one when left', () => {
  render(<Held start={0.5} onChange={() => undefined} />);
  const input = screen.getByLabelText<HTMLInputElement>('Rate');
  fireEvent.change(input, { target: { value: 'abc' } });
  fireEvent.blur(input);
  expect(input.value).toBe('0.5');
});

test('arrow keys step without rounding dirt and stop at the ends', () => {
  const change = vi.fn();
  render(<Held start={0.8} onChange={change} />);
  const input = screen.getByLabelText<HTMLInputElement>('Rate');
  fireEvent.keyDown(input, { key: 'ArrowUp' });
  expect(change).toHaveBeenLastCalledWith(0.9);
  fireEvent.keyDown(input, { key: 'ArrowUp', shiftKey: true });
  expect(change).toHaveBeenLastCalledWith(1);
});
