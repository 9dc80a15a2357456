module slipway

go 1.25.5
