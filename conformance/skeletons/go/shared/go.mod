module {{name}}-parity

go 1.19
